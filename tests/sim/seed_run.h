#pragma once

// One seed from its beginning to its end: a cluster, what befalls it, and what must be true when
// all is over.

#include <cstdint>
#include <optional>
#include <string>

#include "sim/figures.h"
#include "sim/setup.h"
#include "sim/trace.h"

namespace gpl::sim {

struct SeedResult {
  std::optional<std::string> violation;
  std::string trace;  ///< the last lines, when it was kept
  Figures figures;
};

SeedResult run_seed(Campaign campaign, std::uint64_t seed, PlantedBug bug, Trace::Mode trace);

}  // namespace gpl::sim
