#pragma once

// A planted bug: a restart that does not know for whom it voted.

#include "gpl/store/wal.h"
#include "sim/sim_disk.h"

namespace gpl::sim {

/// Writes the log on the disk anew, as it is but for the vote.
void forget_vote(SimDisk& disk, const raft::Configuration& bootstrap, store::WalOptions options);

}  // namespace gpl::sim
