#include <algorithm>
#include <optional>

#include "devices_report.h"
#include "gpl/core/size.h"
#include "output.h"

namespace gpl::cmd {
namespace {

std::string or_unknown(const std::string& text) {
  return text.empty() ? "unknown" : printable(text);
}

std::string memory_cell(const std::optional<std::uint64_t>& bytes, bool shared) {
  return (bytes ? format_memory_size(*bytes) : "unknown") + (shared ? " shared" : "");
}

// What the driver counts beyond what jobs said that they take. A driver always holds some memory;
// only what somebody uses is worth a word.
std::string outside_use(const Accelerator& device, const std::vector<const DeviceHold*>& holds) {
  if (!device.memory_bytes || !device.memory_used_bytes) return "";
  std::uint64_t held = 0;
  for (const DeviceHold* hold : holds) {
    if (!hold->shared_memory_bytes) return "";  // all of it may be that job's
    held += *hold->shared_memory_bytes;
  }
  const std::uint64_t outside =
      *device.memory_used_bytes - std::min(*device.memory_used_bytes, held);
  if (outside <= *device.memory_bytes / 50) return "";
  return " (" + format_memory_size(outside) + " used outside gpl)";
}

std::string holders(const std::vector<const DeviceHold*>& holds, Instant now) {
  std::string text;
  for (const DeviceHold* hold : holds) {
    text += (text.empty() ? "" : ", ") + printable(hold->holder);
    if (hold->since) text += ", " + format_short(now - *hold->since);
    if (hold->shared_memory_bytes) {
      text += ", " + format_memory_size(*hold->shared_memory_bytes) + " shared";
    }
  }
  return text;
}

std::string state_cell(const Inventory& inventory, const Accelerator& device) {
  std::vector<const DeviceHold*> holds;
  for (const DeviceHold& hold : inventory.holds) {
    if (hold.kind == device.kind && hold.index == device.index) holds.push_back(&hold);
  }
  std::string problems;
  for (const std::string& problem : device.problems) {
    problems += (problems.empty() ? "" : "; ") + printable(problem);
  }
  if (!device.usable) return "unusable" + (problems.empty() ? "" : ": " + problems);
  std::string state = device.partitions.empty() ? "free" : "cut into MIG slices";
  if (!holds.empty()) state = holders(holds, inventory.now);
  state += outside_use(device, holds);
  return state + (problems.empty() ? "" : "; " + problems);
}

std::string host_line(const HostFacts& host) {
  std::string os = host.os;
  if (os == "linux") os = "Linux";
  return printable(
             host.name + " · " + os + " " + host.kernel + " " + host.arch + " · " +
             std::to_string(host.cpus) + " cpus · " +
             (host.memory_bytes > 0 ? format_memory_size(host.memory_bytes) : "unknown memory")) +
         "\n";
}

std::string device_rows(const Inventory& inventory) {
  const std::vector<Accelerator>& devices = inventory.report.accelerators;
  if (devices.empty()) return "no accelerators\n";
  std::vector<std::vector<std::string>> table = {
      {"DEVICE", "NAME", "MEMORY", "CAPABILITY", "DRIVER", "STATE"}};
  for (const Accelerator& device : devices) {
    const std::optional<ComputeCapability>& capability = device.compute_capability;
    const bool is_cuda = device.kind == AcceleratorKind::cuda;
    table.push_back({device.id, or_unknown(device.name),
                     memory_cell(device.memory_bytes, device.unified_memory),
                     capability ? to_string(*capability)
                     : is_cuda  ? "unknown"
                                : "-",
                     or_unknown(device.driver), state_cell(inventory, device)});
    for (const Partition& slice : device.partitions) {
      table.push_back({"  " + printable(slice.profile), printable(slice.uuid),
                       memory_cell(slice.memory_bytes, false)});
    }
  }
  return format_table(table);
}

std::string framework_cell(const PythonEnvironment& environment) {
  std::string cell;
  for (const auto& [name, build] : environment.frameworks) {
    std::string kinds;
    for (const AcceleratorKind kind : build.backends) {
      kinds += (kinds.empty() ? "" : ", ") + std::string(name_of(kind));
    }
    cell += (cell.empty() ? "" : ", ") + printable(name + " " + build.version);
    if (!kinds.empty()) cell += " (" + kinds + ")";
  }
  return cell.empty() ? "-" : cell;
}

std::string environment_rows(const std::vector<PythonEnvironment>& environments) {
  if (environments.empty()) return "";
  std::vector<std::vector<std::string>> table = {{"ENVIRONMENT", "PYTHON", "FRAMEWORKS"}};
  for (const PythonEnvironment& environment : environments) {
    table.push_back({printable(environment.name), or_unknown(environment.python_version),
                     framework_cell(environment)});
  }
  return format_table(table);
}

std::string problem_line(const ProbeProblem& problem) {
  const std::string exit = problem.exit ? " (exit " + std::to_string(*problem.exit) + ")" : "";
  return "problem: " + printable(problem.source + ": " + problem.message) + exit + "\n";
}

std::string check_lines(const Inventory& inventory, const PythonEnvironment& environment) {
  std::string text;
  for (const host::FrameworkCheck& check : inventory.checks) {
    if (check.environment_root != environment.root) continue;
    const std::string age = format_short(inventory.now - check.at);
    std::string says = check.framework + " in " + environment.name + " says: ";
    if (check.answer.error.empty()) {
      says += check.answer.version + ", ";
      says += check.answer.devices.empty() ? "sees no device" : "sees";
      for (const host::SeenDevice& device : check.answer.devices) {
        says += " " + std::string(name_of(device.kind)) + " " + device.name;
      }
    } else {
      says += check.answer.error;
    }
    text += "probe: " + printable(says) + " (" + age + " ago)\n";
    for (const std::string& line : disagreements(inventory, environment, check)) {
      text += "differs: " + printable(line) + "\n";
    }
  }
  return text;
}

}  // namespace

std::string devices_table(const Inventory& inventory) {
  std::string text = host_line(inventory.report.host) + device_rows(inventory) +
                     environment_rows(inventory.environments);
  for (const PythonEnvironment& environment : inventory.environments) {
    text += check_lines(inventory, environment);
  }
  for (const ProbeProblem& problem : all_problems(inventory)) text += problem_line(problem);
  return text;
}

}  // namespace gpl::cmd
