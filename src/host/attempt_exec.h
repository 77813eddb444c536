#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpl/core/job_state.h"
#include "gpl/core/time.h"
#include "gpl/host/guard_runner.h"
#include "gpl/posix/fd.h"
#include "gpl/wire/keeper_message.h"
#include "readiness.h"

namespace gpl::host {

/// A command that somebody runs beside an attempt's own, in its environment, under a guard of its
/// own. Its output is handed on at once, as far as the taker keeps up; nobody keeps it.
class AttemptExec {
 public:
  AttemptExec(Readiness& readiness, GuardFamily& family, std::uint64_t number);
  AttemptExec(const AttemptExec&) = delete;
  ~AttemptExec();

  /// `lock` is held open as long as it has a process.
  void start(const Command& command, int lock);
  void signal(int number);
  /// The attempt is over: it ends too, and whoever reads its output slowly has only so long.
  void end(Duration grace);
  void taken(std::uint64_t bytes);
  /// Nobody takes its output any more: it is ended, and says nothing.
  void drop();

  void step();
  /// When `step` is due although no descriptor is ready.
  std::optional<Moment> wake_at(Moment at) const;
  bool over() const { return over_; }
  std::vector<wire::KeeperToPeer> take_news();

 private:
  void take_events();
  void read(std::size_t stream);
  void settle(Outcome outcome);
  void close(std::size_t stream);

  Readiness& readiness_;
  GuardRunner runner_;
  int link_ = -1;  ///< the runner's descriptor, as it is watched
  std::uint64_t number_;
  std::string program_;
  std::array<posix::Fd, 2> pipes_;
  std::uint64_t sent_bytes_ = 0;
  std::uint64_t taken_bytes_ = 0;
  bool started_ = false;
  bool gone_ = false;  ///< none of its processes is left
  bool dropped_ = false;
  std::optional<Moment> give_up_at_;  ///< what of its output nobody takes by then is dropped
  bool over_ = false;
  std::optional<Outcome> outcome_;
  std::vector<wire::KeeperToPeer> news_;
};

}  // namespace gpl::host
