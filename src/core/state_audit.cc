#include "state_audit.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "gpl/core/command.h"
#include "state_change.h"

namespace gpl {
namespace {

constexpr std::uint64_t last_id = std::uint64_t{1} << 63;

Error wrong(std::string what) { return Error{Code::invalid, std::move(what)}; }

std::string name_of_job(JobId id) { return "job " + std::to_string(id.value); }
std::string name_of_attempt(AttemptId id) { return "attempt " + std::to_string(id.value); }

/// The first error, or success.
template <class Record, class F>
Status for_all(const PartedTable<Record>& table, F&& check) {
  for (const Record* record = table.first(); record != nullptr;
       record = table.after(key_of(*record))) {
    Status status = check(*record);
    if (!status.ok()) return status;
  }
  return success();
}

Status audit_counters(const StateCounters& counters) {
  if (counters.feature_level > newest_feature_level)
    return Error{Code::unsupported, "it is of feature level " +
                                        std::to_string(counters.feature_level) +
                                        ", this gpl knows " + std::to_string(newest_feature_level)};
  if (counters.feature_level == 0) return wrong("its feature level is 0");
  if (counters.next_job == JobId{} || counters.next_job.value > last_id ||
      counters.next_attempt == AttemptId{} || counters.next_attempt.value > last_id)
    return wrong("its counters of jobs and attempts are out of range");
  return success();
}

Status audit_counts(const JobRecord& job) {
  const std::uint64_t all = tasks_of(job.description->shape).count();
  const std::uint64_t counts[] = {job.waiting_count, job.under_way_count, job.ended_count};
  std::uint64_t sum = 0;
  for (const std::uint64_t count : counts) {
    if (count > all) return wrong(name_of_job(job.id) + " counts more tasks than it has");
    sum += count;
  }
  if (sum != all || job.failed_count > job.ended_count)
    return wrong("the tasks of " + name_of_job(job.id) + " do not add up");
  if (job.has_ended() != (job.ended_count == all))
    return wrong(name_of_job(job.id) + " has ended, or not, but its tasks say otherwise");
  return success();
}

Status audit_dependencies(const State& state, const JobRecord& job) {
  for (const Dependency& dependency : job.description->after) {
    if (dependency.job >= job.id)
      return wrong(name_of_job(job.id) + " depends on one that came after it");
    if (job.has_ended()) continue;
    const JobRecord* on = state.jobs.find(dependency.job);
    if (on == nullptr) return wrong(name_of_job(job.id) + " depends on one that is not there");
    if (on->has_ended() ? !is_satisfied(dependency, *on) : job.under_way_count > 0)
      return wrong(name_of_job(job.id) + " goes on although what it depends on does not let it");
  }
  return success();
}

Status audit_job(const State& state, const JobRecord& job) {
  if (job.id == JobId{} || job.id >= state.counters.next_job)
    return wrong(name_of_job(job.id) + " is not below the next id");
  if (job.description == nullptr) return wrong(name_of_job(job.id) + " has no description");
  Status valid = validate(*job.description);
  if (!valid.ok()) return wrong(name_of_job(job.id) + ": " + valid.error().message);
  if (feature_level_of(job.description->shape) > state.counters.feature_level)
    return wrong(name_of_job(job.id) + " is above the feature level");
  const TaskRange tasks = tasks_of(job.description->shape);
  for (std::size_t i = 0; i < job.overlaps.size(); ++i) {
    if (!tasks.contains(job.overlaps[i]) || (i > 0 && job.overlaps[i - 1] >= job.overlaps[i]))
      return wrong("the overlaps of " + name_of_job(job.id) + " are not tasks that ascend");
  }
  return audit_counts(job);
}

/// Runs lie in their jobs and are apart from each other; `count` is told of each.
template <class Run, class F>
Status audit_runs(const State& state, const PartedTable<Run>& table, F&& count) {
  const Run* before = nullptr;
  return for_all(table, [&](const Run& run) -> Status {
    const JobRecord* job = state.jobs.find(run.job);
    if (job == nullptr) return wrong("there are tasks of " + name_of_job(run.job) + ", not it");
    const TaskRange all = tasks_of(job->description->shape);
    if (run.tasks.first > run.tasks.last || !all.contains(run.tasks.first) ||
        !all.contains(run.tasks.last))
      return wrong(name_of_job(run.job) + " has no such tasks");
    if (before != nullptr && before->job == run.job &&
        (before->tasks.last >= run.tasks.first || are_one(*before, run)))
      return wrong("ranges of " + name_of_job(run.job) + " overlap, or are one");
    if constexpr (std::is_same_v<Run, EndedTasks>) {
      if (!validate(run.outcome).ok())
        return wrong("tasks of " + name_of_job(run.job) + " have an outcome that cannot be");
    }
    before = &run;
    return count(run);
  });
}

struct Counts {
  std::uint64_t waiting = 0;
  std::uint64_t under_way = 0;
  std::uint64_t ended = 0;
  std::uint64_t failed = 0;
};

Status audit_tasks(const State& state, std::map<JobId, Counts>& counts) {
  Status waiting = audit_runs(state, state.waiting, [&](const WaitingTasks& run) -> Status {
    counts[run.job].waiting += run.tasks.count();
    const EndedTasks* ended = run_from(state.ended, run.job, run.tasks.first);
    if (ended != nullptr && ended->tasks.first <= run.tasks.last)
      return wrong("a task of " + name_of_job(run.job) + " waits and has ended");
    return success();
  });
  if (!waiting.ok()) return waiting;
  Status ended = audit_runs(state, state.ended, [&](const EndedTasks& run) -> Status {
    counts[run.job].ended += run.tasks.count();
    if (run.outcome != Outcome{Exited{0}}) counts[run.job].failed += run.tasks.count();
    return success();
  });
  if (!ended.ok()) return ended;
  return audit_runs(state, state.retried, [&](const RetriedTasks& run) -> Status {
    if (run.count == 0) return wrong("tasks of " + name_of_job(run.job) + " retried 0 times");
    return success();
  });
}

/// What the attempts so far hold.
struct Held {
  std::map<AttemptId, const Attempt*> slots;  ///< the first attempt met of each
  std::map<JobId, std::uint64_t> slot_counts;
  std::map<PeerId, PeerLoad> loads;
};

Status audit_slot(const Attempt& attempt, const JobRecord& job, Held& held) {
  const std::string name = name_of_attempt(attempt.fence.attempt);
  const auto [slot, is_first] = held.slots.emplace(attempt.slot, &attempt);
  if (!is_first) {
    const Attempt& mate = *slot->second;
    if (mate.job == attempt.job && mate.peer == attempt.peer &&
        mate.allocation == attempt.allocation)
      return success();
    return wrong(name + " shares a slot with another job, peer or allocation");
  }
  if (attempt.allocation.cpus < 0) return wrong(name + " has a negative number of cpus");
  const auto limit = limit_of(*job.description);
  if (limit && ++held.slot_counts[job.id] > *limit)
    return wrong(name + " is one more than the limit of its array");
  PeerLoad& load = held.loads[attempt.peer];
  for (const DeviceClaim& claim : attempt.allocation.devices) {
    for (const HeldClaim& other : load.claims) {
      if (!can_coexist(other.claim, claim))
        return wrong(name + " holds what " + name_of_attempt(other.slot) + " holds");
    }
    load.claims.push_back({claim, attempt.slot, attempt.job});
  }
  return success();
}

Status audit_attempts(const State& state, std::map<JobId, Counts>& counts) {
  Held held;
  std::set<std::pair<JobId, TaskId>> tasks;
  return for_all(state.attempts, [&](const Attempt& attempt) -> Status {
    const std::string name = name_of_attempt(attempt.fence.attempt);
    const JobRecord* job = state.jobs.find(attempt.job);
    if (job == nullptr || !tasks_of(job->description->shape).contains(attempt.task))
      return wrong(name + " is at a task that is not there");
    if (state.peers.find(attempt.peer) == nullptr)
      return wrong(name + " is on a peer that is not there");
    if (attempt.fence.attempt >= state.counters.next_attempt || attempt.slot == AttemptId{} ||
        attempt.slot > attempt.fence.attempt || attempt.fence.epoch > state.counters.epoch)
      return wrong(name + " is not one that was placed");
    if (run_of(state.waiting, attempt.job, attempt.task) != nullptr ||
        run_of(state.ended, attempt.job, attempt.task) != nullptr ||
        !tasks.emplace(attempt.job, attempt.task).second)
      return wrong(name + " is not alone with its task");
    ++counts[attempt.job].under_way;
    return audit_slot(attempt, *job, held);
  });
}

Status audit_fenced(const State& state) {
  if (state.fenced.size() > most_fenced) return wrong("it has too many fenced attempts");
  return for_all(state.fenced, [&](const FencedAttempt& attempt) -> Status {
    const AttemptId id = attempt.fence.attempt;
    const JobRecord* job = state.jobs.find(attempt.job);
    if (job == nullptr || !tasks_of(job->description->shape).contains(attempt.task) ||
        id >= state.counters.next_attempt || state.attempts.find(id) != nullptr ||
        attempt.ended_before > state.counters.next_attempt ||
        (attempt.ended_before != AttemptId{} && attempt.ended_before <= id))
      return wrong("fenced " + name_of_attempt(id) + " is not one that was given up");
    return success();
  });
}

}  // namespace

Status audit(const State& state) {
  Status counters = audit_counters(state.counters);
  if (!counters.ok()) return counters;
  std::set<RequestId> requests;
  Status jobs = for_all(state.jobs, [&](const JobRecord& job) -> Status {
    if (!requests.insert(job.request).second)
      return wrong(name_of_job(job.id) + " has the request of another");
    return audit_job(state, job);
  });
  if (!jobs.ok()) return jobs;
  std::map<JobId, Counts> counts;
  Status tasks = audit_tasks(state, counts);
  if (!tasks.ok()) return tasks;
  Status attempts = audit_attempts(state, counts);
  if (!attempts.ok()) return attempts;
  Status sums = for_all(state.jobs, [&](const JobRecord& job) -> Status {
    const Counts& count = counts[job.id];
    if (count.waiting != job.waiting_count || count.under_way != job.under_way_count ||
        count.ended != job.ended_count || count.failed != job.failed_count)
      return wrong("the tasks of " + name_of_job(job.id) + " are not where it counts them");
    return audit_dependencies(state, job);
  });
  if (!sums.ok()) return sums;
  Status fenced = audit_fenced(state);
  if (!fenced.ok()) return fenced;
  if (state.peers.find(PeerId{}) != nullptr) return wrong("it has a peer 0");
  return success();
}

void build_index(State& state) {
  StateIndex& index = state.index;
  for (const PeerRecord* peer = state.peers.first(); peer; peer = state.peers.after(peer->id))
    index.loads.emplace(peer->id, PeerLoad{});
  for (const JobRecord* job = state.jobs.first(); job; job = state.jobs.after(job->id)) {
    index.add_live(*job);
    if (job->has_ended()) {
      index.end(*job);
    } else if (is_placeable(state, *job)) {
      index.placeable.insert(place_of(*job));
    }
  }
  for (const Attempt* attempt = state.attempts.first(); attempt;
       attempt = state.attempts.after(attempt->fence.attempt))
    index.add(*attempt, *state.jobs.find(attempt->job)->description);
  for (const FencedAttempt* attempt = state.fenced.first(); attempt;
       attempt = state.fenced.after(attempt->fence.attempt))
    index.add(*attempt);
}

}  // namespace gpl
