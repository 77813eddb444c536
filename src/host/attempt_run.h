#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attempt_exec.h"
#include "attempt_input.h"
#include "background_removal.h"
#include "gpl/core/peer_offer.h"
#include "gpl/core/time.h"
#include "gpl/core/worker_message.h"
#include "gpl/host/attempt_folder.h"
#include "gpl/host/guard_runner.h"
#include "gpl/host/keeper.h"
#include "gpl/host/kept_output.h"
#include "gpl/wire/keeper_message.h"
#include "readiness.h"

namespace gpl::host {

/// What all attempts of a keeper have in common; outlives them.
struct AttemptSite {
  const KeeperOptions& options;
  Readiness& readiness;
  GuardFamily& family;
  BackgroundRemoval& removal;
  PeerOffer offer;
};

/// One attempt from its order to its end: prepared, waiting for its devices, running, its output
/// taken to the end. What it has to say is in `take_news` and `take_outcome`, after each `step`.
class AttemptRun {
 public:
  /// `temp_folder` is written down with the order, and is yet to be made.
  AttemptRun(AttemptSite& site, to_worker::Start order, AttemptFolder folder, KeptOutput output,
             std::string temp_folder);
  AttemptRun(const AttemptRun&) = delete;
  ~AttemptRun();

  // Orders.
  void prepare(std::vector<wire::Secret> secrets, bool followed);
  void fail(FailedToStart failure);
  void end(Duration grace);
  /// Ends it, with this outcome unless its first process has already ended.
  void give_up(Lost outcome);
  void signal(int number);
  bool put_input(const wire::to_keeper::Input& input);
  void exec(std::uint64_t number, const std::vector<std::string>& command);
  AttemptExec* find_exec(std::uint64_t number);
  std::size_t exec_count() const { return execs_.size(); }
  void drop_execs();

  void step(Moment now);
  std::optional<Moment> wake_at(Moment now) const;

  const to_worker::Start& order() const { return order_; }
  const AttemptFolder& folder() const { return folder_; }
  KeptOutput& output() { return output_; }
  const AttemptInput& input() const { return input_; }
  bool preparing() const { return phase_ == Phase::preparing; }
  /// Of the first process; 0 when there is none yet.
  std::int32_t pid() const { return pid_; }
  /// Whether it has begun since this was asked last.
  bool take_started() { return std::exchange(started_news_, false); }
  /// Once, when no process of it is left and its output has been taken.
  std::optional<Outcome> take_outcome();
  std::vector<wire::KeeperToPeer> take_news();

 private:
  enum class Phase { preparing, placing, running, closing, over };

  void place(Moment now);
  void launch(Moment now, std::vector<posix::Fd> device_locks);
  Status start(const Command& command, std::vector<posix::Fd> device_locks);
  void take_events(Moment now);
  void take_event(Moment now, const RunnerEvent& event);
  void begin_closing(Moment now);
  void close(Moment now);
  void step_execs();
  void watch_output();
  void watch_input();
  void forget_pipe(std::size_t stream);
  void read(std::size_t stream);
  void write_input();
  void forget_input();
  void finish(Outcome outcome);
  void note(const std::string& text);
  Outcome outcome_of_status(int wait_status) const;

  AttemptSite& site_;
  to_worker::Start order_;
  AttemptFolder folder_;
  KeptOutput output_;
  AttemptInput input_;
  GuardRunner runner_;
  std::string temp_folder_;
  bool has_temp_folder_ = false;
  Phase phase_ = Phase::preparing;
  std::vector<wire::Secret> secrets_;
  Command command_;
  int link_ = -1;  ///< descriptors as they are watched
  std::array<int, 2> pipes_ = {-1, -1};
  int input_pipe_ = -1;
  std::int32_t pid_ = 0;
  bool started_news_ = false;
  bool ending_ = false;
  Moment place_at_;
  std::optional<Moment> waits_since_;
  bool wait_told_ = false;
  std::optional<Moment> limit_at_;
  bool timed_out_ = false;
  std::optional<Lost> given_up_;
  std::optional<Moment> closing_until_;
  std::optional<Outcome> outcome_;
  bool outcome_taken_ = false;
  std::map<std::uint64_t, std::unique_ptr<AttemptExec>> execs_;
  std::vector<wire::KeeperToPeer> news_;
};

}  // namespace gpl::host
