#pragma once

#include "state.h"

namespace gpl::raft {

// A lone voter's disk is the only one that counts. A learner that keeps up is awaited all the same,
// so that whatever is acknowledged is on two disks; one that does not answer, or whose disk stands
// still, holds nothing up for longer than an election timeout.

/// Where a commit to `index` ends: at what the furthest of the awaited learners has. `index` where
/// none is awaited, or there is more than one voter.
Index awaited_match(const State& state, Index index);
/// It has answered, with `more` than was known: is awaited from when it has caught up.
void await_if_caught_up(State& state, Progress& follower, bool more);
/// The ones that do not answer, or do not move, are not awaited any more.
void give_up_awaited(State& state);
/// A learner that is awaited has all that is committed.
bool is_kept_twice(const State& state);

}  // namespace gpl::raft
