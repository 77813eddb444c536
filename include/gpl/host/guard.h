#pragma once

#include <cstdint>
#include <type_traits>

#include "gpl/host/runner.h"
#include "gpl/posix/fd.h"

namespace gpl::host {

/// How long processes that outlive the command's first one may go on: to flush a pipe they hold.
constexpr std::int64_t linger_ms = 700;
/// How long they then have between SIGTERM and SIGKILL. With `linger_ms`: a second at most.
constexpr std::int64_t leftover_grace_ms = 300;
/// How long an attempt has between SIGTERM and SIGKILL when the guard's parent is gone.
constexpr std::int64_t orphan_grace_ms = 2000;

/// What the guard is told, one packet each.
struct GuardOrder {
  enum class Kind : std::int32_t { signal, end };
  Kind kind = Kind::signal;
  std::int32_t signal_number = 0;
  std::int64_t grace_ms = 0;
};

/// What the guard tells, one packet each; the fields of the other kinds are zero.
struct GuardReport {
  enum class Kind : std::int32_t { started, failed_to_start, first_process_ended, all_gone };
  Kind kind = Kind::started;
  std::int32_t pid = 0;
  SpawnFailure failure;
  std::int32_t survivors = 0;
  FirstProcessEnded ended;
};
static_assert(std::is_trivially_copyable_v<GuardOrder>);
static_assert(std::is_trivially_copyable_v<GuardReport>);

/// The guard's life, in a process forked for it with all signals blocked. It starts the command in
/// a session of its own and stays until no process of the attempt is left: daemons too, as their
/// subreaper. `link` is a SOCK_SEQPACKET socket to the parent; when the parent's end closes, the
/// attempt is ended. Never returns.
[[noreturn]] void run_guard(const Launch& launch, posix::Fd link);

}  // namespace gpl::host
