#include <array>
#include <cassert>
#include <utility>

#include "gpl/core/cluster_state.h"
#include "state.h"

namespace gpl {

FrozenState ClusterState::freeze() const {
  State& state = *state_;
  return FrozenState(std::make_shared<const FrozenTables>(
      FrozenTables{state.counters, state.jobs.freeze(), state.waiting.freeze(),
                   state.ended.freeze(), state.retried.freeze(), state.attempts.freeze(),
                   state.fenced.freeze(), state.peers.freeze()}));
}

FrozenState::FrozenState(std::shared_ptr<const FrozenTables> tables) : tables_(std::move(tables)) {}

std::size_t FrozenState::part_count() const {
  const FrozenTables& t = *tables_;
  return 1 + t.jobs.size() + t.waiting.size() + t.ended.size() + t.retried.size() +
         t.attempts.size() + t.fenced.size() + t.peers.size();
}

namespace {

// True when the part is of this table; else what is left of the index beyond it.
template <class Made, class Frozen>
bool take(const Frozen& frozen, std::size_t& index, StatePart& part) {
  if (index >= frozen.size()) {
    index -= frozen.size();
    return false;
  }
  part = Made{frozen[index]->records};
  return true;
}

}  // namespace

StatePart FrozenState::part(std::size_t index) const {
  assert(index < part_count());
  const FrozenTables& t = *tables_;
  StatePart part = t.counters;
  if (index == 0) return part;
  --index;
  take<JobsPart>(t.jobs, index, part) || take<WaitingPart>(t.waiting, index, part) ||
      take<EndedPart>(t.ended, index, part) || take<RetriedPart>(t.retried, index, part) ||
      take<AttemptsPart>(t.attempts, index, part) || take<FencedPart>(t.fenced, index, part) ||
      take<PeersPart>(t.peers, index, part);
  return part;
}

}  // namespace gpl
