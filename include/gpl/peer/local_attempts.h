#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "gpl/core/attempt.h"
#include "gpl/core/id.h"
#include "gpl/core/job_state.h"
#include "gpl/core/result.h"
#include "gpl/wire/keeper_message.h"

namespace gpl::peer {

/// An attempt whose output is on this machine: it ran here, or a copy is kept (Mirrors).
struct LocalAttempt {
  Fence fence;
  JobId job;
  TaskId task;
  PeerId ran_on;  ///< 0: here, and its folder with what it made is here too
  bool running = false;
  std::uint64_t out_bytes = 0;  ///< of its files, as far as the keeper has told
  std::uint64_t err_bytes = 0;
  std::uint64_t tellings = 0;    ///< of these
  bool output_complete = false;  ///< they grow no more
  std::optional<Outcome> outcome;
  std::optional<Instant> started_at;  ///< known once it has ended
  /// What it made has been found and put away.
  bool collected = false;
  std::optional<Error> not_collected;  ///< why that failed the last time
  bool told = true;                    ///< by the keeper that is, or was last, connected
};

/// What the keeper has told of the attempts here, from the order to start to the removal of the
/// folder.
class LocalAttempts {
 public:
  /// `changed`: something of an attempt of this job.
  explicit LocalAttempts(std::function<void(JobId)> changed) : changed_(std::move(changed)) {}

  // What the keeper tells.
  void take(const wire::from_keeper::Prepare& prepare);
  void take(const wire::from_keeper::Running& running);
  void take(const wire::from_keeper::Grew& grew);
  void take(const wire::from_keeper::Ended& ended);
  void take(const wire::from_keeper::Listed& listed);
  /// It is gone: it will tell all anew.
  void keeper_lost();

  // What the copies of others' output tell; told with Grew and Ended as by the keeper.
  void take_mirror(const Fence& fence, JobId job, TaskId task, PeerId ran_on);

  void collected(const Fence& fence);
  void not_collected(const Fence& fence, const Error& why);
  void discarded(const Fence& fence);

  /// Whether all that there are have been told: before that one may be missing here.
  bool complete() const { return complete_; }
  const LocalAttempt* find(const Fence& fence) const;
  /// The first of this task with a later fence than this one, or null: Fence{} begins.
  const LocalAttempt* next_of(JobId job, TaskId task, const Fence& after) const;
  /// In order of their fences.
  std::vector<Fence> of(JobId job) const;
  std::size_t size() const { return attempts_.size(); }
  /// All, in order.
  template <class F>
  void for_each(F&& f) const {
    for (const auto& [fence, attempt] : attempts_) f(attempt);
  }

 private:
  LocalAttempt& known(const Fence& fence, JobId job, TaskId task);

  std::function<void(JobId)> changed_;
  std::map<Fence, LocalAttempt> attempts_;
  std::map<std::pair<JobId, Fence>, TaskId> by_job_;
  bool complete_ = false;
};

}  // namespace gpl::peer
