#include "state_index.h"

#include <cassert>
#include <iterator>
#include <variant>

namespace gpl {

void StateIndex::add_live(const JobRecord& job) {
  requests.emplace(job.request, job.id);
  for (const Dependency& dependency : job.description->after)
    dependents.emplace(dependency.job, job.id);
}

void StateIndex::end(const JobRecord& job) {
  ended.emplace(*job.ended_at, job.id);
  for (const Dependency& dependency : job.description->after)
    dependents.erase({dependency.job, job.id});
}

void StateIndex::forget_ended(const JobRecord& job) {
  requests.erase(job.request);
  ended.erase({*job.ended_at, job.id});
}

void StateIndex::add(const Attempt& attempt, const JobDescription& description) {
  const AttemptId id = attempt.fence.attempt;
  by_job.emplace(attempt.job, id);
  by_peer.emplace(attempt.peer, id);
  const bool is_first = !holds(attempt.slot);
  by_slot.emplace(attempt.slot, id);
  if (!is_first) return;
  loads[attempt.peer].add(attempt.slot, attempt.job, attempt.placed_at, attempt.allocation);
  if (limit_of(description)) ++slots_used[attempt.job];
}

void StateIndex::remove(const Attempt& attempt, const JobDescription& description) {
  const AttemptId id = attempt.fence.attempt;
  by_job.erase({attempt.job, id});
  by_peer.erase({attempt.peer, id});
  const auto erased = by_slot.erase({attempt.slot, id});
  assert(erased == 1);
  if (holds(attempt.slot)) return;
  loads[attempt.peer].remove(attempt.slot, attempt.allocation);
  if (!limit_of(description)) return;
  const auto used = slots_used.find(attempt.job);
  assert(used != slots_used.end());
  if (--used->second == 0) slots_used.erase(used);
}

void StateIndex::add(const FencedAttempt& attempt) {
  fenced.emplace(attempt.job, attempt.task, attempt.fence.attempt);
}

void StateIndex::remove(const FencedAttempt& attempt) {
  fenced.erase({attempt.job, attempt.task, attempt.fence.attempt});
}

bool StateIndex::holds(AttemptId slot) const {
  const auto first = by_slot.lower_bound({slot, AttemptId{}});
  return first != by_slot.end() && first->first == slot;
}

std::optional<AttemptId> StateIndex::last_of(AttemptId slot) const {
  const auto first = by_slot.lower_bound({slot, AttemptId{}});
  if (first == by_slot.end() || first->first != slot) return std::nullopt;
  const auto second = std::next(first);
  if (second != by_slot.end() && second->first == slot) return std::nullopt;
  return first->second;
}

const PeerLoad& StateIndex::load_of(PeerId peer) const {
  const auto found = loads.find(peer);
  assert(found != loads.end());
  return found->second;
}

QueuePlace place_of(const JobRecord& job) { return {job.description->priority, job.id}; }

std::optional<std::uint64_t> limit_of(const JobDescription& description) {
  const auto* array = std::get_if<Array>(&description.shape);
  return array != nullptr ? array->limit : std::nullopt;
}

}  // namespace gpl
