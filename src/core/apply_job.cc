#include <string>
#include <utility>
#include <vector>

#include "apply.h"
#include "state_change.h"

namespace gpl {
namespace {

std::string name_of_job(JobId id) { return "job " + std::to_string(id.value); }

Status check_submit(const State& state, const JobDescription& job) {
  Status valid = validate(job);
  if (!valid.ok()) return valid;
  for (const Dependency& dependency : job.after) {
    if (state.jobs.find(dependency.job) == nullptr) {
      Error error = no_such_job(dependency.job);
      error.message = "after: " + error.message;
      return error;
    }
  }
  return success();
}

Status check_known(const State& state, JobId id) {
  if (state.jobs.find(id) == nullptr) return no_such_job(id);
  return success();
}

// Holding what has ended would be a word without effect that sounds like one.
Status check_live(const State& state, JobId id) {
  const JobRecord* job = state.jobs.find(id);
  if (job == nullptr) return no_such_job(id);
  if (job->has_ended()) return Error{Code::invalid, name_of_job(id) + " has ended"};
  return success();
}

Status set_held(State& state, JobId id, bool held, Instant at, Effect& effect) {
  Status live = check_live(state, id);
  if (!live.ok()) return live;
  effect.changed = state.jobs.find(id)->held != held;
  if (effect.changed) StateChange(state, effect.applied, at).hold(id, held);
  return success();
}

}  // namespace

Error no_such_job(JobId id) {
  return Error{Code::not_found, name_of_job(id) + " is not known: it never was, or ended long ago"};
}

Status apply(State& state, const command::Submit& submit, Effect& effect) {
  const auto told = state.index.requests.find(submit.request);
  if (told != state.index.requests.end()) {
    effect.applied.job = told->second;
    effect.changed = false;
    return success();
  }
  Status fits = check_submit(state, submit.job);
  if (!fits.ok()) return fits;

  JobRecord job;
  job.id = state.counters.next_job;
  job.request = submit.request;
  job.submitter = submit.submitter;
  job.description = std::make_shared<const JobDescription>(submit.job);
  job.submitted_at = submit.at;
  job.held = submit.job.held;
  ++state.counters.next_job.value;
  effect.applied.job = job.id;
  StateChange change(state, effect.applied, submit.at);
  change.add_job(std::move(job));
  for (const command::Placing& placing : submit.placings) {
    const JobRecord& added = *state.jobs.find(*effect.applied.job);
    if (check_placing(state, added, placing).ok()) change.place(added.id, placing);
  }
  change.settle();
  return success();
}

Status apply(State& state, const command::Cancel& cancel, Effect& effect) {
  Status known = check_known(state, cancel.job);
  if (!known.ok()) return known;
  const JobRecord& job = *state.jobs.find(cancel.job);
  const TaskRange all = tasks_of(job.description->shape);
  const TaskRange range = cancel.tasks.value_or(all);
  if (range.first > range.last || !all.contains(range.first) || !all.contains(range.last))
    return Error{Code::not_found, name_of_job(job.id) + " has the tasks " +
                                      std::to_string(all.first.value) + " to " +
                                      std::to_string(all.last.value)};
  effect.changed = false;
  if (job.has_ended()) return success();

  StateChange change(state, effect.applied, cancel.at);
  if (!cancel.tasks && !job.cancelled) {
    change.write_job(cancel.job).cancelled = true;
    effect.changed = true;
  }
  if (const auto* run = run_from(state.waiting, cancel.job, range.first);
      run != nullptr && run->tasks.first <= range.last)
    effect.changed = true;
  change.end_waiting(cancel.job, range, Cancelled{});
  std::vector<AttemptId> attempts;
  for_each_of(state.index.by_job, cancel.job, [&](AttemptId id) { attempts.push_back(id); });
  for (const AttemptId id : attempts) {
    const Attempt& attempt = *state.attempts.find(id);
    if (!range.contains(attempt.task)) continue;
    if (!attempt.cancelled) effect.changed = true;
    change.tell_to_end(id);
  }
  change.settle();
  return success();
}

Status apply(State& state, const command::Hold& hold, Effect& effect) {
  return set_held(state, hold.job, true, hold.at, effect);
}

Status apply(State& state, const command::Release& release, Effect& effect) {
  return set_held(state, release.job, false, release.at, effect);
}

Status apply(State& state, const command::Prune& prune, Effect& effect) {
  std::vector<JobId> jobs;
  for (const auto& [at, id] : state.index.ended) {
    if (at >= prune.before || jobs.size() == command::Prune::most_jobs) break;
    const auto dependent = state.index.dependents.lower_bound({id, JobId{}});
    if (dependent == state.index.dependents.end() || dependent->first != id) jobs.push_back(id);
  }
  effect.changed = !jobs.empty();
  StateChange change(state, effect.applied, prune.at);
  for (const JobId id : jobs) change.forget(id);
  return success();
}

}  // namespace gpl
