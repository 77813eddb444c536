#pragma once

#include <string>
#include <vector>

#include "gpl/core/environment.h"
#include "gpl/core/peer_view.h"
#include "gpl/host/device_probe.h"
#include "gpl/host/framework_check.h"

namespace gpl::cmd {

/// What `gpl devices` shows.
struct Inventory {
  host::DeviceReport report;
  std::vector<PythonEnvironment> environments;
  std::vector<DeviceHold> holds;             ///< of jobs, by the ledger
  std::vector<host::FrameworkCheck> checks;  ///< what frameworks said of themselves
  Instant now;
};

/// The report's problems, then those of each environment, by its name.
std::vector<ProbeProblem> all_problems(const Inventory& inventory);

/// Where a framework's own answer differs from what its files and the drivers say.
std::vector<std::string> disagreements(const Inventory& inventory,
                                       const PythonEnvironment& environment,
                                       const host::FrameworkCheck& check);

/// The one documented object of `gpl devices --json`, with a newline. What is not known is null.
std::string devices_json(const Inventory& inventory);

/// The same for a person: a line for the machine, tables, a line for each problem.
std::string devices_table(const Inventory& inventory);

/// The ids of the usable devices, a line each: of a card cut into MIG slices, the slices' UUIDs.
std::string device_ids(const host::DeviceReport& report);

}  // namespace gpl::cmd
