#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "apply.h"
#include "state_change.h"

namespace gpl {
namespace {

std::string words_for(TaskRange tasks) {
  if (tasks.first == tasks.last) return "task " + std::to_string(tasks.first.value);
  return "tasks " + std::to_string(tasks.first.value) + " to " + std::to_string(tasks.last.value);
}

std::string words_for(const Fence& fence) {
  return "attempt " + std::to_string(fence.attempt.value) + " of epoch " +
         std::to_string(fence.epoch);
}

Status check_job_takes(const State& state, const JobRecord& job) {
  const std::string name = "job " + std::to_string(job.id.value);
  if (job.has_ended()) return Error{Code::invalid, name + " has ended"};
  if (job.held) return Error{Code::invalid, name + " is held: release it first"};
  if (is_blocked(state, job))
    return Error{Code::invalid, name + " waits for a job that it depends on"};
  const auto limit = limit_of(*job.description);
  const auto used = state.index.slots_used.find(job.id);
  if (limit && used != state.index.slots_used.end() && used->second >= *limit)
    return Error{Code::busy,
                 name + " has as many tasks under way as its array may: " + std::to_string(*limit)};
  return success();
}

Status check_tasks(const State& state, const JobRecord& job, TaskRange tasks) {
  if (tasks.first > tasks.last) return Error{Code::invalid, "the tasks end before they begin"};
  const WaitingTasks* run = run_of(state.waiting, job.id, tasks.first);
  if (run == nullptr || !run->tasks.contains(tasks.last))
    return Error{Code::invalid, words_for(tasks) + " of job " + std::to_string(job.id.value) +
                                    (tasks.first == tasks.last ? " does not wait to be placed"
                                                               : " do not all wait to be placed")};
  if (tasks.count() > command::most_tasks_of_placing)
    return Error{Code::too_large, std::to_string(tasks.count()) +
                                      " tasks in one placing: at most " +
                                      std::to_string(command::most_tasks_of_placing)};
  return success();
}

// A new attempt at a task is told from an old one by its number, and from one that another leader
// placed before a takeover by the epoch.
Result<Attempt> find_under_way(const State& state, const Fence& fence) {
  const Attempt* attempt = state.attempts.find(fence.attempt);
  if (attempt != nullptr && attempt->fence == fence) return *attempt;
  return Error{Code::not_found,
               words_for(fence) + " is not under way: its end has been told, or it was given up"};
}

bool has_run(const Outcome& outcome) {
  return std::holds_alternative<Exited>(outcome) || std::holds_alternative<Signalled>(outcome) ||
         std::holds_alternative<TimedOut>(outcome);
}

// An exit is the command's own: it was done before the word to end reached it, else the keeper
// reports that it was cancelled. What else it says of an attempt that was to end is that it did.
Outcome settled_outcome(const Attempt& attempt, const Outcome& reported) {
  if (!attempt.cancelled || std::holds_alternative<Exited>(reported)) return reported;
  return cancelled_by(reported);
}

bool is_to_be_retried(const State& state, const Attempt& attempt, const Outcome& outcome) {
  if (attempt.cancelled) return false;
  if (outcome == Outcome{Exited{0}} || std::holds_alternative<Cancelled>(outcome)) return false;
  const RetriedTasks* retried = run_of(state.retried, attempt.job, attempt.task);
  return (retried == nullptr ? 0 : retried->count) <
         state.jobs.find(attempt.job)->description->retries;
}

const FencedAttempt* find_given_up(const State& state, const Fence& fence) {
  const FencedAttempt* found = state.fenced.find(fence.attempt);
  return found != nullptr && found->fence == fence ? found : nullptr;
}

// The keeper of an attempt that was given up says that it ran, or ran on. Its outcome is refused,
// but not the news when another attempt may have run meanwhile.
Status note_that_ran(State& state, const command::Start& start, Effect& effect) {
  const FencedAttempt* found = find_given_up(state, start.attempt);
  if (found == nullptr || !is_news_that_ran(state, *found))
    return find_under_way(state, start.attempt).error();
  effect.applied.given_up = true;
  StateChange(state, effect.applied, start.at)
      .note_run(found->job, found->task, found->fence.attempt);
  return success();
}

Status note_that_outlived(State& state, const command::Report& report, Effect& effect) {
  const FencedAttempt* found = find_given_up(state, report.attempt);
  if (!report.outlived_lease || found == nullptr || !is_news_that_outlived(state, *found))
    return find_under_way(state, report.attempt).error();
  effect.applied.given_up = true;
  StateChange(state, effect.applied, report.at).note_outlived(FencedAttempt(*found));
  return success();
}

}  // namespace

Status check_placing(const State& state, const JobRecord& job, const command::Placing& placing) {
  Status takes = check_job_takes(state, job);
  if (!takes.ok()) return takes;
  Status tasks = check_tasks(state, job, placing.tasks);
  if (!tasks.ok()) return tasks;
  const PeerRecord* peer = state.peers.find(placing.peer);
  if (peer == nullptr) return no_such_peer(placing.peer);
  if (peer->down_at) return Error{Code::busy, peer->offer.name + " is out of reach"};
  Status free = check_free(peer->offer, state.index.load_of(peer->id), placing.allocation);
  if (free.ok()) return free;
  return Error{free.error().code, peer->offer.name + ": " + free.error().message};
}

Status apply(State& state, const command::Place& place, Effect& effect) {
  const JobRecord* job = state.jobs.find(place.job);
  if (job == nullptr) return no_such_job(place.job);
  Status fits = check_placing(state, *job, place.placing);
  if (!fits.ok()) return fits;
  StateChange(state, effect.applied, place.at).place(place.job, place.placing);
  return success();
}

Status apply(State&, const command::PlaceGang&, Effect&) {
  return Error{Code::unsupported, "this version of gpl places no gangs: upgrade every peer"};
}

Status apply(State& state, const command::Start& start, Effect& effect) {
  const auto attempt = find_under_way(state, start.attempt);
  if (!attempt.ok()) return note_that_ran(state, start, effect);
  effect.changed = std::holds_alternative<Placed>(attempt.value().state);
  if (effect.changed) StateChange(state, effect.applied, start.at).start(attempt.value());
  if (attempt.value().cancelled) effect.applied.to_end.push_back(start.attempt);
  return success();
}

Status apply(State& state, const command::Report& report, Effect& effect) {
  Status valid = validate(report.outcome);
  if (!valid.ok()) return valid;
  const auto found = find_under_way(state, report.attempt);
  if (!found.ok()) return note_that_outlived(state, report, effect);
  const Attempt& attempt = found.value();

  StateChange change(state, effect.applied, report.at);
  if (has_run(report.outcome)) change.note_run(attempt.job, attempt.task, attempt.fence.attempt);
  const auto* lost = std::get_if<Lost>(&report.outcome);
  if (lost != nullptr) {
    change.lose({attempt}, lost->why, StateChange::Silence::ended);
  } else if (is_to_be_retried(state, attempt, report.outcome)) {
    change.try_again(attempt);
  } else {
    change.end(attempt, settled_outcome(attempt, report.outcome));
  }
  change.settle();
  return success();
}

}  // namespace gpl
