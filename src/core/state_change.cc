#include "state_change.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <set>
#include <utility>
#include <variant>

namespace gpl {
namespace {

bool is_success(const Outcome& outcome) {
  const auto* exited = std::get_if<Exited>(&outcome);
  return exited != nullptr && exited->code == 0;
}

std::string words_for(After after) {
  switch (after) {
    case After::ok:
      return "ok";
    case After::any:
      return "any";
    case After::fail:
      return "fail";
  }
  return "";
}

}  // namespace

bool is_satisfied(const Dependency& dependency, const JobRecord& job) {
  assert(job.has_ended());
  switch (dependency.after) {
    case After::ok:
      return job.failed_count == 0;
    case After::any:
      return true;
    case After::fail:
      return job.failed_count > 0;
  }
  return false;
}

bool is_blocked(const State& state, const JobRecord& job) {
  const auto& after = job.description->after;
  return std::any_of(after.begin(), after.end(), [&](const Dependency& dependency) {
    return !state.jobs.find(dependency.job)->has_ended();
  });
}

namespace {

/// Attempts at the task that were given up, and placed before this one.
std::vector<AttemptId> given_up_before(const State& state, JobId job, TaskId task,
                                       AttemptId attempt) {
  std::vector<AttemptId> found;
  const auto& fenced = state.index.fenced;
  const auto end = fenced.lower_bound({job, task, attempt});
  for (auto at = fenced.lower_bound({job, task, AttemptId{}}); at != end; ++at)
    found.push_back(std::get<AttemptId>(*at));
  return found;
}

}  // namespace

bool is_news_that_ran(const State& state, const FencedAttempt& attempt) {
  const AttemptId id = attempt.fence.attempt;
  const auto before = given_up_before(state, attempt.job, attempt.task, id);
  return std::any_of(before.begin(), before.end(), [&](AttemptId other) {
    const FencedAttempt& given_up = *state.fenced.find(other);
    if (given_up.ended_before == AttemptId{}) return !given_up.superseded;
    return id < given_up.ended_before;
  });
}

bool is_news_that_outlived(const State& state, const FencedAttempt& attempt) {
  if (attempt.superseded) return true;
  if (attempt.ended_before != AttemptId{}) return false;
  // Only what was placed by now can have run beside it.
  const AttemptId id = attempt.fence.attempt;
  const auto given_up = state.index.fenced.upper_bound({attempt.job, attempt.task, id});
  if (given_up != state.index.fenced.end() && std::get<JobId>(*given_up) == attempt.job &&
      std::get<TaskId>(*given_up) == attempt.task)
    return true;
  bool placed = false;
  for_each_of(state.index.by_job, attempt.job, [&](AttemptId other) {
    placed = placed || (other > id && state.attempts.find(other)->task == attempt.task);
  });
  return placed;
}

bool is_placeable(const State& state, const JobRecord& job) {
  return job.waiting_count > 0 && !job.held && !is_blocked(state, job);
}

void StateChange::add_job(JobRecord job) {
  const JobId id = job.id;
  const TaskRange tasks = tasks_of(job.description->shape);
  job.waiting_count = tasks.count();
  state_.index.add_live(job);
  state_.jobs.insert(std::move(job));
  state_.waiting.insert({id, tasks});
  wake_dependent(id);
}

JobRecord& StateChange::write_job(JobId job) { return state_.jobs.write(job); }

void StateChange::hold(JobId job, bool held) {
  write_job(job).held = held;
  review(job);
}

void StateChange::place(JobId job, const command::Placing& placing) {
  take_runs(state_.waiting, job, placing.tasks);
  JobRecord& record = write_job(job);
  record.waiting_count -= placing.tasks.count();
  record.under_way_count += placing.tasks.count();
  const AttemptId slot = state_.counters.next_attempt;
  for (TaskId task = placing.tasks.first; task <= placing.tasks.last; ++task.value) {
    const AttemptId id = state_.counters.next_attempt;
    ++state_.counters.next_attempt.value;
    Attempt attempt{{state_.counters.epoch, id}, slot, job,      task, placing.peer,
                    placing.allocation,          at_,  Placed{}, false};
    state_.index.add(attempt, *record.description);
    state_.attempts.insert(std::move(attempt));
    applied_.placed.push_back(id);
  }
  review(job);
}

void StateChange::start(const Attempt& attempt) {
  const JobId job = attempt.job;
  const TaskId task = attempt.task;
  const AttemptId id = attempt.fence.attempt;
  state_.attempts.write(id).state = Started{at_};
  note_run(job, task, id);
}

void StateChange::tell_to_end(AttemptId attempt) {
  Attempt& record = state_.attempts.write(attempt);
  record.cancelled = true;
  applied_.to_end.push_back(record.fence);
}

void StateChange::leave(const Attempt& attempt) {
  JobRecord& job = write_job(attempt.job);
  --job.under_way_count;
  state_.index.remove(attempt, *job.description);
  state_.attempts.erase(attempt.fence.attempt);
}

void StateChange::add_ended(JobId job, TaskRange tasks, const Outcome& outcome) {
  JobRecord& record = write_job(job);
  record.ended_count += tasks.count();
  if (!is_success(outcome)) record.failed_count += tasks.count();
  add_run(state_.ended, EndedTasks{job, tasks, outcome, at_});
  unsettled_.push_back(job);
}

void StateChange::end(const Attempt& attempt, const Outcome& outcome) {
  leave(attempt);
  add_ended(attempt.job, {attempt.task, attempt.task}, outcome);
}

void StateChange::queue_again(const Attempt& attempt) {
  leave(attempt);
  ++write_job(attempt.job).waiting_count;
  add_run(state_.waiting, WaitingTasks{attempt.job, {attempt.task, attempt.task}});
  review(attempt.job);
}

void StateChange::try_again(const Attempt& attempt) {
  const TaskRange task{attempt.task, attempt.task};
  auto runs = take_runs(state_.retried, attempt.job, task);
  RetriedTasks run = runs.empty() ? RetriedTasks{attempt.job, task, 0} : runs.front();
  ++run.count;
  add_run(state_.retried, run);
  queue_again(attempt);
}

void StateChange::fence_off(const Attempt& attempt) {
  if (state_.fenced.size() == most_fenced) forget(FencedAttempt(*state_.fenced.first()));
  const FencedAttempt fenced{attempt.fence, attempt.job, attempt.task, false, {}};
  state_.index.add(fenced);
  state_.fenced.insert(fenced);
}

void StateChange::forget(const FencedAttempt& attempt) {
  state_.index.remove(attempt);
  state_.fenced.erase(attempt.fence.attempt);
}

void StateChange::note_run(JobId job, TaskId task, AttemptId attempt) {
  for (const AttemptId id : given_up_before(state_, job, task, attempt)) {
    const FencedAttempt fenced = *state_.fenced.find(id);
    if (fenced.ended_before == AttemptId{}) {
      if (!fenced.superseded) state_.fenced.write(id).superseded = true;
    } else if (attempt < fenced.ended_before) {
      record_overlap(fenced);
    }
  }
}

// Whether another has run is told by its keeper, which may be out of reach: the news is kept.
void StateChange::note_outlived(const FencedAttempt& attempt) {
  if (attempt.superseded) return record_overlap(attempt);
  state_.fenced.write(attempt.fence.attempt).ended_before = state_.counters.next_attempt;
}

void StateChange::record_overlap(const FencedAttempt& attempt) {
  std::vector<TaskId>& overlaps = write_job(attempt.job).overlaps;
  const auto place = std::lower_bound(overlaps.begin(), overlaps.end(), attempt.task);
  if (place == overlaps.end() || *place != attempt.task) overlaps.insert(place, attempt.task);
  applied_.overlaps.push_back({attempt.job, attempt.task});
  forget(attempt);
}

void StateChange::lose_one(const Attempt& attempt, const std::string& why, Silence silence) {
  const OnLoss on_loss = state_.jobs.find(attempt.job)->description->on_loss;
  if (silence == Silence::may_run_on) applied_.to_end.push_back(attempt.fence);
  if (attempt.cancelled) return end(attempt, Cancelled{});
  if (on_loss == OnLoss::retry) return queue_again(attempt);
  end(attempt, Lost{why});
}

void StateChange::lose(const std::vector<Attempt>& attempts, const std::string& why,
                       Silence silence) {
  std::set<JobId> failed;
  for (const Attempt& attempt : attempts) {
    const OnLoss on_loss = state_.jobs.find(attempt.job)->description->on_loss;
    // No other attempt is made at the tasks of others: none can run beside them.
    if (on_loss == OnLoss::retry) fence_off(attempt);
    if (on_loss == OnLoss::fail && !attempt.cancelled) failed.insert(attempt.job);
    lose_one(attempt, why, silence);
  }
  for (const JobId job : failed) fail_rest(job, why);
}

// A job that must not lose an attempt: what has not begun never will, what runs is ended.
void StateChange::fail_rest(JobId job, const std::string& why) {
  constexpr TaskRange all{TaskId{0}, TaskId{last_task}};
  end_waiting(job, all, FailedToStart{0, 125, "not begun: " + why + " (on-loss is fail)"});
  std::vector<AttemptId> attempts;
  for_each_of(state_.index.by_job, job, [&](AttemptId id) { attempts.push_back(id); });
  for (const AttemptId id : attempts) {
    if (!state_.attempts.find(id)->cancelled) tell_to_end(id);
  }
}

void StateChange::end_waiting(JobId job, TaskRange tasks, const Outcome& outcome) {
  for (const WaitingTasks& run : take_runs(state_.waiting, job, tasks)) {
    write_job(job).waiting_count -= run.tasks.count();
    add_ended(job, run.tasks, outcome);
  }
  review(job);
}

void StateChange::forget(JobId job) {
  const JobRecord record = *state_.jobs.find(job);
  const TaskRange tasks = tasks_of(record.description->shape);
  take_runs(state_.ended, job, tasks);
  take_runs(state_.retried, job, tasks);
  auto& fenced = state_.index.fenced;
  for (auto at = fenced.lower_bound({job, TaskId{}, AttemptId{}});
       at != fenced.end() && std::get<JobId>(*at) == job; at = fenced.erase(at))
    state_.fenced.erase(std::get<AttemptId>(*at));
  state_.index.forget_ended(record);
  state_.jobs.erase(job);
}

void StateChange::review(JobId job) {
  const JobRecord& record = *state_.jobs.find(job);
  if (is_placeable(state_, record)) {
    state_.index.placeable.insert(place_of(record));
  } else {
    state_.index.placeable.erase(place_of(record));
  }
}

// A list and not a recursion: a chain of jobs may be as long as the queue.
void StateChange::settle() {
  while (!unsettled_.empty()) {
    const JobId id = unsettled_.back();
    unsettled_.pop_back();
    const JobRecord& job = *state_.jobs.find(id);
    if (job.waiting_count == 0 && job.under_way_count == 0 && !job.has_ended())
      finish(write_job(id));
  }
  std::sort(applied_.ended.begin(), applied_.ended.end());
}

void StateChange::finish(JobRecord& job) {
  job.ended_at = at_;
  state_.index.end(job);
  applied_.ended.push_back(job.id);
  std::vector<JobId> dependents;
  for_each_of(state_.index.dependents, job.id, [&](JobId id) { dependents.push_back(id); });
  for (const JobId dependent : dependents) wake_dependent(dependent);
}

// Waiting for ever for what cannot happen helps nobody: who follows the job would wait with it, and
// those that depend on it too. It ends as a job that could not be started, as make gives up the
// targets above one that failed, and Slurm with kill_invalid_depend.
void StateChange::wake_dependent(JobId id) {
  const JobRecord& job = *state_.jobs.find(id);
  for (const Dependency& dependency : job.description->after) {
    const JobRecord& on = *state_.jobs.find(dependency.job);
    if (!on.has_ended() || is_satisfied(dependency, on)) continue;
    const std::string name = "job " + std::to_string(on.id.value);
    const std::string how = on.failed_count == 0 ? " did not fail" : " failed";
    const TaskRange tasks = tasks_of(job.description->shape);
    return end_waiting(id, tasks,
                       FailedToStart{0, 125,
                                     name + how + ", and the job was to start after it only if " +
                                         "it ends otherwise (" + std::to_string(on.id.value) + ":" +
                                         words_for(dependency.after) + ")"});
  }
  review(id);
}

}  // namespace gpl
