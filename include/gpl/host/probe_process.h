#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "gpl/host/spawn.h"
#include "gpl/posix/fd.h"

namespace gpl::host {

/// How a probe's program ended, and what it had printed until then.
struct ProbeAnswer {
  enum class Ending {
    exited,
    signalled,
    timed_out,        ///< no end within the deadline
    too_much_output,  ///< over `probe_output_max_bytes`
    not_started,
  };
  Ending ending = Ending::not_started;
  int number = 0;  ///< exit status, signal number, or errno value of `not_started`
  std::string out;
  std::string err;
};

/// More than any tool prints of a whole machine, of stdout and stderr each.
inline constexpr std::size_t probe_output_max_bytes = std::size_t{4} << 20;

/// What to run, and how long it may take.
struct ProbeRequest {
  Command command;
  std::int64_t deadline_ms = 10'000;
};

/// One run of a program that may hang, print without end, or leave children: started by the
/// constructor, in a session of its own, with an empty stdin. Whatever is left of its process group
/// is killed when it has ended, at its deadline, or by the destructor. No call blocks.
///
/// A child that holds stdout open delays nobody: what is there when the program ends is the answer.
/// A process that even SIGKILL does not end (state D in the kernel) is given up.
class ProbeProcess {
 public:
  explicit ProbeProcess(const ProbeRequest& request);
  ~ProbeProcess();
  ProbeProcess(const ProbeProcess&) = delete;
  ProbeProcess& operator=(const ProbeProcess&) = delete;

  /// When this is readable, or after `wait_ms()`, `step` has something to do.
  int descriptor() const { return events_.get(); }
  int wait_ms() const;
  void step();

  bool done() const { return state_ == State::done; }
  /// Requires `done()`.
  const ProbeAnswer& answer() const { return answer_; }

 private:
  enum class State { running, killed, done };

  bool start(const ProbeRequest& request);
  void watch(int fd);
  void read_output();
  bool has_ended() const;
  void end(ProbeAnswer::Ending ending);
  bool reap();

  ProbeAnswer answer_;
  State state_ = State::running;
  std::int64_t deadline_at_ms_ = 0;  // by CLOCK_MONOTONIC
  pid_t pid_ = -1;
  posix::Fd events_;   // an epoll of the others
  posix::Fd process_;  // a pidfd; none on kernels before 5.3
  posix::Fd out_;
  posix::Fd err_;
};

/// Runs all of them at once and returns their answers in order, after the longest deadline at most.
std::vector<ProbeAnswer> run_probes(const std::vector<ProbeRequest>& requests);

}  // namespace gpl::host
