#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "state_history.h"

/// What has to hold of every state, judged from its records and not by the code that keeps it.
namespace gpl::test {

/// All records of a state, as its parts have them.
struct Records {
  explicit Records(const ClusterState& state) {
    for (StatePart& part : parts_of(state.freeze()))
      std::visit([this](auto& one) { take(one); }, part);
  }
  StateCounters counters;
  std::vector<JobRecord> jobs;
  std::vector<WaitingTasks> waiting;
  std::vector<EndedTasks> ended;
  std::vector<RetriedTasks> retried;
  std::vector<Attempt> attempts;
  std::vector<FencedAttempt> fenced;
  std::vector<PeerRecord> peers;

 private:
  template <class Record>
  static void append(std::vector<Record>& all, std::vector<Record>& some) {
    all.insert(all.end(), some.begin(), some.end());
  }
  void take(StateCounters& one) { counters = one; }
  void take(JobsPart& part) { append(jobs, part.jobs); }
  void take(WaitingPart& part) { append(waiting, part.tasks); }
  void take(EndedPart& part) { append(ended, part.tasks); }
  void take(RetriedPart& part) { append(retried, part.tasks); }
  void take(AttemptsPart& part) { append(attempts, part.attempts); }
  void take(FencedPart& part) { append(fenced, part.attempts); }
  void take(PeersPart& part) { append(peers, part.peers); }
};

/// Every task is in exactly one of waiting, attempts and ended.
inline void check_tasks(const Records& records) {
  std::map<std::pair<JobId, TaskId>, int> found;
  const auto add = [&](JobId job, TaskRange range) {
    for (TaskId task = range.first; task <= range.last; ++task.value) ++found[{job, task}];
  };
  for (const auto& run : records.waiting) add(run.job, run.tasks);
  for (const auto& run : records.ended) add(run.job, run.tasks);
  for (const auto& attempt : records.attempts) add(attempt.job, {attempt.task, attempt.task});
  std::size_t count = 0;
  for (const JobRecord& job : records.jobs) {
    const TaskRange all = tasks_of(job.description->shape);
    for (TaskId task = all.first; task <= all.last; ++task.value, ++count)
      REQUIRE(found[{job.id, task}] == 1);
  }
  REQUIRE(found.size() == count);
}

inline bool takes_all(const DeviceClaim& claim) { return !claim.shared_memory_bytes; }

/// No device twice, shares, cpus and memory within what is offered; each slot counted once.
inline void check_holds(const Records& records) {
  for (const PeerRecord& peer : records.peers) {
    std::map<AttemptId, Allocation> slots;
    for (const Attempt& attempt : records.attempts) {
      if (attempt.peer != peer.id) continue;
      const auto [slot, added] = slots.emplace(attempt.slot, attempt.allocation);
      REQUIRE(slot->second == attempt.allocation);
    }
    std::int64_t cpus = 0;
    std::uint64_t memory = 0;
    std::vector<DeviceClaim> claims;
    for (const auto& [slot, allocation] : slots) {
      cpus += allocation.cpus;
      memory += allocation.memory_bytes;
      claims.insert(claims.end(), allocation.devices.begin(), allocation.devices.end());
    }
    REQUIRE(cpus <= peer.offer.host.cpus);
    REQUIRE(memory <= peer.offer.host.memory_bytes);
    std::map<std::pair<int, std::string>, std::uint64_t> shared;
    for (std::size_t i = 0; i < claims.size(); ++i) {
      const DeviceClaim& claim = claims[i];
      const auto bytes = claim.shared_memory_bytes.value_or(0);
      const auto sum = shared[{claim.device.index, claim.device.slice}] += bytes;
      REQUIRE(sum <= (claim.device.slice.empty() ? card_bytes : slice_bytes));
      for (std::size_t j = 0; j < i; ++j) {
        if (claims[j].device.index != claim.device.index) continue;
        const bool same = claims[j].device.slice == claim.device.slice;
        const bool one_is_card = claims[j].device.slice.empty() || claim.device.slice.empty();
        if (same) REQUIRE((!takes_all(claims[j]) && !takes_all(claim)));
        if (!same) REQUIRE(!one_is_card);
      }
    }
  }
}

/// What the records say of a job is what its record counts, and what is found by the queries.
inline void check_jobs(const ClusterState& state, const Records& records) {
  std::vector<JobId> placeable;
  for (const JobRecord& job : records.jobs) {
    std::vector<AttemptId> attempts;
    std::set<AttemptId> slots;
    for (const Attempt& attempt : records.attempts) {
      if (attempt.job != job.id) continue;
      attempts.push_back(attempt.fence.attempt);
      slots.insert(attempt.slot);
    }
    REQUIRE(state.attempts_of(job.id) == attempts);
    REQUIRE(job.under_way_count == attempts.size());
    std::uint64_t failed = 0;
    for (const EndedTasks& run : state.ended(job.id)) {
      if (run.outcome != Outcome{Exited{0}}) failed += run.tasks.count();
    }
    REQUIRE(job.failed_count == failed);
    REQUIRE(job.has_ended() == (state.waiting(job.id).empty() && attempts.empty()));
    REQUIRE(state.find_request(job.request) == job.id);
    const auto* array = std::get_if<Array>(&job.description->shape);
    if (array != nullptr && array->limit) {
      REQUIRE(slots.size() <= *array->limit);
      REQUIRE(state.placings_left(job.id) == *array->limit - slots.size());
    }
    const bool blocked = !state.blocked_by(job.id).empty();
    if (blocked) REQUIRE(attempts.empty());
    if (!state.waiting(job.id).empty() && !job.held && !blocked) placeable.push_back(job.id);
  }
  REQUIRE(state.placeable() == placeable);
}

/// The index that was kept up is the one that is made anew.
inline void check_index(const ClusterState& state) {
  const auto anew = ClusterState::restore(parts_of(state.freeze()));
  REQUIRE_MESSAGE(anew.ok(), (anew.ok() ? "" : anew.error().message));
  const ClusterState& other = anew.value();
  REQUIRE(state.digest() == other.digest());
  REQUIRE(state.placeable() == other.placeable());
  REQUIRE(state.peers() == other.peers());
  for (const PeerId peer : state.peers()) {
    REQUIRE(state.attempts_on(peer) == other.attempts_on(peer));
    const PeerView one = state.view_of(peer);
    const PeerView two = other.view_of(peer);
    REQUIRE(one.holds == two.holds);
    REQUIRE(one.cpus_held == two.cpus_held);
    REQUIRE(one.memory_held_bytes == two.memory_held_bytes);
    REQUIRE(one.loads == two.loads);
  }
}

inline void check_all(const ClusterState& state) {
  const Records records(state);
  check_tasks(records);
  check_holds(records);
  check_jobs(state, records);
  check_index(state);
}

}  // namespace gpl::test
