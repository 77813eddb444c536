#pragma once

#include "state.h"

namespace gpl::raft {

/// Is it from the leader of the present term? Then it has been heard.
bool hear_leader(State& state, NodeId from);
/// What an answer to `round` says of a node that has taken nothing new: it is alive, and has this.
AppendReply present_match(const State& state, std::uint64_t round);

void on_append(State& state, NodeId from, Append append);

}  // namespace gpl::raft
