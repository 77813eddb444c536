#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gpl/core/cluster_state.h"
#include "gpl/core/command.h"
#include "state.h"

namespace gpl {

/// The steps that commands are made of, on records and index together. A command is checked in full
/// before its first step: no step can fail. Requires `settle` after steps that end tasks.
class StateChange {
 public:
  StateChange(State& state, Applied& applied, Instant at)
      : state_(state), applied_(applied), at_(at) {}

  /// The record is new, or one that is to be changed in its own fields alone.
  void add_job(JobRecord job);
  JobRecord& write_job(JobId job);
  void hold(JobId job, bool held);

  /// Attempts at these tasks, which are waiting, in one slot.
  void place(JobId job, const command::Placing& placing);
  void start(const Attempt& attempt);
  /// Its peer is to end it. It is under way until that has been told.
  void tell_to_end(AttemptId attempt);

  // Each ends the attempt, for good. Requires copies of their records, which go.
  void end(const Attempt& attempt, const Outcome& outcome);
  void try_again(const Attempt& attempt);
  /// Attempts of which no outcome will be known: by `on_loss`, each task is queued again or ends
  /// as lost, and a job that must not lose one ends.
  enum class Silence {
    ended,       ///< it is known that they do not run any more
    may_run_on,  ///< their peer must end them when it is back
  };
  void lose(const std::vector<Attempt>& attempts, const std::string& why, Silence silence);

  /// Tasks of the range that are waiting end so.
  void end_waiting(JobId job, TaskRange tasks, const Outcome& outcome);

  void forget(JobId job);
  void forget(const FencedAttempt& attempt);

  /// An attempt at the task, in the state or given up, has run: those that were given up before it
  /// was placed may have run on beside it.
  void note_run(JobId job, TaskId task, AttemptId attempt);
  /// It ran on after its lease, and has ended by now.
  void note_outlived(const FencedAttempt& attempt);

  /// Ends the jobs whose last task has ended, and those that can never begin for that.
  void settle();

 private:
  void leave(const Attempt& attempt);
  void queue_again(const Attempt& attempt);
  void lose_one(const Attempt& attempt, const std::string& why, Silence silence);
  void fail_rest(JobId job, const std::string& why);
  void add_ended(JobId job, TaskRange tasks, const Outcome& outcome);
  void fence_off(const Attempt& attempt);
  void record_overlap(const FencedAttempt& attempt);
  void review(JobId job);
  void finish(JobRecord& job);
  void wake_dependent(JobId job);

  State& state_;
  Applied& applied_;
  Instant at_;
  std::vector<JobId> unsettled_;  ///< jobs whose tasks have changed
};

/// Whether such a note on this attempt, which was given up, would change anything.
bool is_news_that_ran(const State& state, const FencedAttempt& attempt);
bool is_news_that_outlived(const State& state, const FencedAttempt& attempt);

/// Fenced attempts that are remembered; beyond it those of lowest number are forgotten.
inline constexpr std::size_t most_fenced = 4096;

}  // namespace gpl
