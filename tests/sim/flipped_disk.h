#pragma once

// What a recovery makes of a disk on which a bit was flipped, held against what it makes of the
// disk as it was.

#include <string>

#include "gpl/store/wal.h"
#include "sim/sim_disk.h"

namespace gpl::sim {

enum class FlipEffect {
  none,     ///< the same is found: the bit was in nothing that counts
  refused,  ///< as damage
  cut,      ///< in the last batch, which cannot be told from a torn one
  wrong,    ///< something that was never so
};

struct FlipFinding {
  FlipEffect kind;
  std::string text;
};

/// Opens copies of both. Requires that the one before opens.
FlipFinding effect_of_flip(const SimDisk& before, const SimDisk& after,
                           const raft::Configuration& bootstrap, store::WalOptions options);

}  // namespace gpl::sim
