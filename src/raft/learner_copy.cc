#include "learner_copy.h"

#include "membership.h"
#include "replication.h"

namespace gpl::raft {
namespace {

bool is_awaited(const State& state, const Progress& follower) {
  return follower.is_awaited() && state.configuration().is_learner(follower.id());
}

}  // namespace

Index awaited_match(const State& state, Index index) {
  if (!state.is_lone_voter()) return index;
  bool any = false;
  Index furthest = 0;
  for (const Progress& follower : state.lead.followers) {
    if (!is_awaited(state, follower)) continue;
    any = true;
    furthest = std::max(furthest, follower.match());
  }
  return any ? std::min(index, furthest) : index;
}

void await_if_caught_up(State& state, Progress& follower, bool more) {
  if (!state.is_lone_voter() || !state.configuration().is_learner(follower.id())) {
    follower.await_no_more();
  } else if (follower.is_awaited() ? more : has_caught_up(state, follower.id())) {
    follower.await(state.now);
  }
}

void give_up_awaited(State& state) {
  if (!state.is_lone_voter()) return;
  bool any = false;
  for (Progress& follower : state.lead.followers) {
    if (!follower.is_awaited()) continue;
    // There is nothing to wait for.
    if (follower.match() >= state.disk.synced_index()) follower.await(state.now);
    if (follower.is_live(state.now, state.options.election_timeout) &&
        follower.awaited_for(state.now) < state.options.election_timeout) {
      continue;
    }
    follower.await_no_more();
    any = true;
  }
  if (any) advance_commit(state);
}

bool is_kept_twice(const State& state) {
  if (state.role != Role::leader || !state.is_lone_voter()) return false;
  return std::any_of(state.lead.followers.begin(), state.lead.followers.end(),
                     [&](const Progress& follower) {
                       return is_awaited(state, follower) && follower.match() >= state.commit;
                     });
}

}  // namespace gpl::raft
