#pragma once

// Many seeds on all cores: a process a core, so that an assertion of the product ends one seed and
// not the campaign. A seed that fails is run again for its trace.

#include <cstdint>
#include <string>
#include <vector>

#include "sim/seed_run.h"

namespace gpl::sim {

struct CampaignRun {
  Campaign campaign = Campaign::mixed;
  PlantedBug bug = PlantedBug::none;
  std::uint64_t first = 1;
  std::uint64_t seeds = 1000;
  unsigned jobs = 1;
  bool stop_at_violation = false;
};

struct CampaignResult {
  Figures figures;
  std::uint64_t passed = 0;
  std::uint64_t failed = 0;
  std::vector<std::uint64_t> failed_seeds;  ///< ascending; of very many not all
  std::uint64_t crashed = 0;                ///< of the failed: ended by a signal
};

CampaignResult run_campaign(const CampaignRun& run);
/// Runs a seed again, and prints the violation, the trace's end, and how to run it once more.
/// `live`: prints the whole trace as it happens.
void report_seed(const CampaignRun& run, std::uint64_t seed, bool live);
/// "scripts/sim --first 7 --seeds 1 --campaign mixed --trace".
std::string rerun_line(const CampaignRun& run, std::uint64_t seed);

}  // namespace gpl::sim
