#include "devices_report.h"

namespace gpl::cmd {

std::vector<ProbeProblem> all_problems(const Inventory& inventory) {
  std::vector<ProbeProblem> problems = inventory.report.problems;
  for (const PythonEnvironment& environment : inventory.environments) {
    for (const std::string& message : environment.problems) {
      problems.push_back({environment.name, std::nullopt, message});
    }
  }
  return problems;
}

std::vector<std::string> disagreements(const Inventory& inventory,
                                       const PythonEnvironment& environment,
                                       const host::FrameworkCheck& check) {
  const auto build = environment.frameworks.find(check.framework);
  if (build == environment.frameworks.end()) return {"it is not installed any more"};
  return host::probe_disagreements(check.framework, build->second, inventory.report.accelerators,
                                   check.answer);
}

std::string device_ids(const host::DeviceReport& report) {
  std::string ids;
  for (const Accelerator& device : report.accelerators) {
    if (!device.usable) continue;
    if (device.partitions.empty()) ids += device.id + "\n";
    for (const Partition& slice : device.partitions) ids += slice.uuid + "\n";
  }
  return ids;
}

}  // namespace gpl::cmd
