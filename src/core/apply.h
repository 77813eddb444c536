#pragma once

#include "gpl/core/cluster_state.h"
#include "gpl/core/command.h"
#include "gpl/core/result.h"
#include "state.h"

namespace gpl {

struct Effect {
  Applied applied;
  bool changed = true;  ///< false: the command was fine, and there was nothing left to do
};

// One for every command. An Error: it does not fit the state, and nothing was changed.
Status apply(State& state, const command::Submit& submit, Effect& effect);
Status apply(State& state, const command::Place& place, Effect& effect);
Status apply(State& state, const command::PlaceGang& place, Effect& effect);
Status apply(State& state, const command::Start& start, Effect& effect);
Status apply(State& state, const command::Report& report, Effect& effect);
Status apply(State& state, const command::Cancel& cancel, Effect& effect);
Status apply(State& state, const command::Hold& hold, Effect& effect);
Status apply(State& state, const command::Release& release, Effect& effect);
Status apply(State& state, const command::PeerUp& up, Effect& effect);
Status apply(State& state, const command::PeerDown& down, Effect& effect);
Status apply(State& state, const command::PeerForgotten& forgotten, Effect& effect);
Status apply(State& state, const command::AttemptsLost& lost, Effect& effect);
Status apply(State& state, const command::LeasesOver& over, Effect& effect);
Status apply(State& state, const command::Prune& prune, Effect& effect);
Status apply(State& state, const command::SetFeatureLevel& set, Effect& effect);
Status apply(State& state, const command::SetEpoch& set, Effect& effect);

/// Whether the tasks may be placed so.
Status check_placing(const State& state, const JobRecord& job, const command::Placing& placing);

Error no_such_job(JobId id);
Error no_such_peer(PeerId id);

}  // namespace gpl
