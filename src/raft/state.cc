#include "state.h"

#include <cassert>

#include "election.h"

namespace gpl::raft {
Node::State::State(Options given, Restored restored, Moment start)
    : options(given),
      prng(given.seed ^ Prng(given.id.value).next()),  // nodes of one seed must differ too
      now(start),
      hard(restored.hard_state),
      log(restored.snapshot, std::move(restored.entries)),
      disk(log.last_index()),
      commit(restored.snapshot.index),
      handed(restored.snapshot.index),
      heard(start),
      election_at(start) {
  assert(options.id != NodeId{} && options.heartbeat.count_ms > 0);
  assert(options.election_timeout >= options.heartbeat);
  assert(options.inflight_limit > 0 && options.snapshot_piece_bytes > 0);
  assert(hard.term >= log.last_term());
  reset_election_timer(*this);
}

Progress* Node::State::follower(NodeId id) {
  const auto at = std::lower_bound(
      lead.followers.begin(), lead.followers.end(), id,
      [](const Progress& progress, NodeId wanted) { return progress.id() < wanted; });
  return at != lead.followers.end() && at->id() == id ? &*at : nullptr;
}

const Progress* Node::State::follower(NodeId id) const {
  return const_cast<State*>(this)->follower(id);
}

}  // namespace gpl::raft
