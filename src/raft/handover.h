#pragma once

#include "state.h"

namespace gpl::raft {

/// Leadership transfer (thesis, section 3.10).
void begin_transfer(State& state, NodeId to);
/// The target has the whole log: asks it to campaign.
void hand_over_if_ready(State& state);
/// Gives a transfer up whose time is over, repeats its request, and begins one when this leader's
/// disk has not come back from a sync for too long.
void tick_transfer(State& state);
/// The removal of this leader is committed: tells everyone, and hands over to the most advanced.
void leave_if_removed(State& state);

}  // namespace gpl::raft
