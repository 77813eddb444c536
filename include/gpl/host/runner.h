#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <variant>
#include <vector>

#include "gpl/core/result.h"
#include "gpl/host/spawn.h"

namespace gpl::host {

/// One attempt to run: the descriptors stay the caller's, who closes its copies after `start`.
struct Launch {
  Command command;
  Stdio stdio;
  std::vector<int> locks;  ///< held open until no process of the attempt is left
};

struct Started {
  pid_t pid = 0;
};
struct SpawnFailed {
  SpawnFailure failure;
};
/// The command's first process has ended; others of the attempt may still run.
struct FirstProcessEnded {
  int wait_status = 0;  ///< as of wait(2)
  std::int64_t user_us = 0;
  std::int64_t system_us = 0;
  std::int64_t max_rss_kib = 0;
};
/// No process of the attempt is left, but for `survivors` that the kernel could not end.
struct AllGone {
  int survivors = 0;
};
/// The guard was killed from outside. Everything that it had started has been ended.
struct GuardLost {};

using RunnerEvent = std::variant<Started, SpawnFailed, FirstProcessEnded, AllGone, GuardLost>;

/// Runs one attempt: start, signal, end, events. Each call returns at once.
///
/// Every start that succeeds leads to exactly one of SpawnFailed, AllGone or GuardLost, and no
/// event comes after it.
class Runner {
 public:
  virtual ~Runner() = default;

  /// At most once. Whether the command itself could be started is told by an event.
  virtual Status start(const Launch& launch) = 0;

  /// Sends a signal to the command's process group.
  virtual void signal(int signal_number) = 0;

  /// SIGTERM to every process of the attempt, SIGKILL to those left after `grace_ms`.
  virtual void end(std::int64_t grace_ms) = 0;

  /// When this is readable, or after `wait_ms()` (-1: no limit), there may be events to take.
  virtual int descriptor() const = 0;
  virtual int wait_ms() const = 0;
  virtual std::vector<RunnerEvent> take_events() = 0;
};

}  // namespace gpl::host
