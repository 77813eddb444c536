#pragma once

// The scripted scenarios, by name: each is a cluster of simulated machines with the product's
// Replica on them, and a story told step by step.

#include <optional>
#include <string>
#include <vector>

#include "sim/trace.h"

namespace gpl::sim {

struct Played {
  std::optional<std::string> failure;
  std::string figures;  ///< what was seen, for people
};

struct Scenario {
  const char* name;
  Played (*play)(Trace::Mode);
};

// By what they are about: scenarios_NOUN.cc.
std::vector<Scenario> election_scenarios();
std::vector<Scenario> membership_scenarios();
std::vector<Scenario> storage_scenarios();
std::vector<Scenario> load_scenarios();
std::vector<Scenario> loss_scenarios();
std::vector<Scenario> two_peer_scenarios();

bool scenario_exists(const std::string& name);
/// All of them, or one. Prints `ok NAME: ...` or what went wrong, and `N passed, N failed`; returns
/// what main returns.
int run_scenarios(const std::string& name, bool trace);

}  // namespace gpl::sim
