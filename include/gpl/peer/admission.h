#pragma once

#include <optional>
#include <set>
#include <string>
#include <variant>

#include "gpl/core/cluster_state.h"
#include "gpl/core/command.h"
#include "gpl/core/explain.h"
#include "gpl/core/time.h"
#include "gpl/peer/consensus.h"
#include "gpl/wire/client_message.h"

namespace gpl::peer {

/// What a job has to pass before it is taken into the cluster, and with what it then goes into the
/// log: the command, with the places where it starts at once. Refused: 125 when no peer could ever
/// run it (unless it allows that) or its dependencies are unknown, 2 when it makes no sense.
/// `all_reported`: as of explain_new. Without `may_place` it waits for its turn; `away`: peers that
/// get nothing.
std::variant<command::Submit, wire::Refused> admit(const ClusterState& state,
                                                   const wire::SubmitJob& asked,
                                                   const Submitter& submitter, bool all_reported,
                                                   Instant now, bool may_place = true,
                                                   const std::set<PeerId>& away = {});

/// Every peer of the cluster has reported, or has had the time to: then what none of them can do is
/// known.
bool all_have_reported(const Consensus& consensus);

/// Of what was refused by the state machine, or could not be written.
wire::Refused refusal(const Error& error);

/// Whether these submitter's jobs are the asker's own.
bool is_own(const JobRecord& job, const Submitter& asker);

}  // namespace gpl::peer
