#include "sim/scenarios.h"

#include <algorithm>
#include <cstdio>

namespace gpl::sim {

namespace {

std::vector<Scenario> all_scenarios() {
  std::vector<Scenario> all;
  for (const auto& some : {election_scenarios(), membership_scenarios(), storage_scenarios(),
                           load_scenarios(), loss_scenarios(), two_peer_scenarios()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

}  // namespace

bool scenario_exists(const std::string& name) {
  const auto all = all_scenarios();
  return std::any_of(all.begin(), all.end(), [&](const Scenario& s) { return s.name == name; });
}

int run_scenarios(const std::string& name, bool trace) {
  int passed = 0, failed = 0;
  for (const auto& scenario : all_scenarios()) {
    if (name != "all" && name != scenario.name) continue;
    auto played = scenario.play(trace ? Trace::Mode::live : Trace::Mode::off);
    if (!played.failure) {
      ++passed;
      std::printf("ok %s: %s\n", scenario.name, played.figures.c_str());
    } else {
      ++failed;
      std::printf("FAILED %s: %s\nrerun: scripts/sim --scenario %s --trace\n", scenario.name,
                  played.failure->c_str(), scenario.name);
    }
    std::fflush(stdout);
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}

}  // namespace gpl::sim
