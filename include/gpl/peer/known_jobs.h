#pragma once

#include "gpl/core/cluster_state.h"
#include "gpl/core/id.h"

namespace gpl::peer {

/// Of a peer's own copy of the state, which may be a little behind what others already act on: a
/// job that is not in it has either been forgotten, or has not reached it yet.
inline bool is_forgotten(const ClusterState& state, JobId job) {
  return state.find_job(job) == nullptr && job < state.next_job();
}

/// Or is forgotten. `state` null: nothing is known.
inline bool has_ended(const ClusterState* state, JobId job) {
  if (state == nullptr) return false;
  const JobRecord* record = state->find_job(job);
  return record != nullptr ? record->has_ended() : is_forgotten(*state, job);
}

}  // namespace gpl::peer
