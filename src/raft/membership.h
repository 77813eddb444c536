#pragma once

#include "state.h"

namespace gpl::raft {

/// Changes by one node (thesis, section 4.1).
Result<Index> add_learner(State& state, NodeId id);
Result<Index> promote(State& state, NodeId id);
Result<Index> remove(State& state, NodeId id);
/// It answers, is past probing and snapshots, and has all that the log had when the heartbeat round
/// before this one began: it is no more than two heartbeats behind.
bool has_caught_up(const State& state, NodeId id);
/// Leader: has a Progress of exactly the other nodes of the configuration.
void follow_configuration(State& state);
/// Code::busy where proposals are not taken now.
Status may_propose(const State& state);

}  // namespace gpl::raft
