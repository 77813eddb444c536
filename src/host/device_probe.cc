#include "gpl/host/device_probe.h"

#include <cerrno>
#include <iterator>
#include <string_view>

#include "gpl/host/amd.h"
#include "gpl/host/apple.h"
#include "gpl/host/host_facts.h"
#include "gpl/host/intel.h"
#include "gpl/host/nvidia_probe.h"
#include "gpl/host/probe_process.h"
#include "gpl/host/spawn.h"
#include "gpl/host/sysfs.h"
#include "gpl/posix/error.h"

namespace gpl::host {
namespace {

constexpr const char* wsl_tool = "/usr/lib/wsl/lib/nvidia-smi";  // WSL2 leaves it off PATH

std::string variable(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string& entry : environment) {
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=') {
      return entry.substr(name.size() + 1);
    }
  }
  return "";
}

Program find(const DeviceProbeOptions& options, const std::string& name) {
  Program program = find_program(Command{{name}, options.environment, options.working_folder});
  // The tool is run from another folder.
  if (!program.path.empty() && program.path.front() != '/') {
    program.path = options.working_folder + "/" + program.path;
  }
  return program;
}

std::string cannot_run(const std::string& what, int errno_value) {
  return what + " cannot be run: " +
         (errno_value == EACCES ? "it is not executable (" + posix::errno_text(errno_value) + ")"
                                : posix::errno_text(errno_value));
}

DeviceFindings find_nvidia(const DeviceProbeOptions& options, const SystemRoot& root) {
  const NvidiaTool tool = find_nvidia_tool(options);
  DeviceFindings found;
  if (!tool.problem.empty()) found.problems.push_back({"nvidia-smi", std::nullopt, tool.problem});
  if (tool.path.empty()) return found;
  NvidiaProbe probe;
  for (auto runs = probe.next(); !runs.empty(); runs = probe.next()) {
    std::vector<ProbeRequest> requests;
    for (NvidiaProbe::Words& words : runs) {
      words.insert(words.begin(), tool.path);
      requests.push_back({{std::move(words), options.environment, "/"}, options.deadline_ms});
    }
    probe.take(run_probes(requests));
  }
  DeviceFindings cards = probe.findings();
  for (Accelerator& card : cards.accelerators) {
    if (card.driver.empty()) card.driver = sysfs_word(root, "/sys/module/nvidia/version");
  }
  cards.problems.insert(cards.problems.begin(), found.problems.begin(), found.problems.end());
  return cards;
}

DeviceFindings find_apple(const DeviceProbeOptions& options) {
#if defined(__APPLE__)
  const std::vector<ProbeAnswer> answers = run_probes(apple_requests(options.deadline_ms));
  return parse_apple(answers[0].out, answers[1].out);
#else
  static_cast<void>(options);
  return {};
#endif
}

void add(DeviceFindings found, DeviceReport& report) {
  std::move(found.accelerators.begin(), found.accelerators.end(),
            std::back_inserter(report.accelerators));
  std::move(found.problems.begin(), found.problems.end(), std::back_inserter(report.problems));
}

}  // namespace

NvidiaTool find_nvidia_tool(const DeviceProbeOptions& options) {
  if (const std::string named = variable(options.environment, "GPL_NVIDIA_SMI"); !named.empty()) {
    const Program program = find(options, named);
    if (program.failure.errno_value == 0) return {program.path, ""};
    return {"", cannot_run("$GPL_NVIDIA_SMI, " + named + ",", program.failure.errno_value)};
  }
  const Program program = find(options, "nvidia-smi");
  if (program.failure.errno_value == 0) return {program.path, ""};
  const Program wsl = find(options, options.root + wsl_tool);
  if (wsl.failure.errno_value == 0) return {wsl.path, ""};
  if (program.failure.errno_value != ENOENT) {
    return {"", cannot_run("nvidia-smi on PATH", program.failure.errno_value)};
  }
  if (wsl.failure.errno_value != ENOENT && wsl.failure.errno_value != ENOTDIR) {
    return {"", cannot_run(wsl_tool, wsl.failure.errno_value)};
  }
  return {};
}

DeviceReport probe_devices(const DeviceProbeOptions& options) {
  const SystemRoot root(options.root);
  DeviceReport report;
  report.host = host_facts(root);
  add(find_nvidia(options, root), report);
  add(find_amd(root), report);
  add(find_intel(root), report);
  add(find_apple(options), report);
  for (Accelerator& device : report.accelerators) {
    // The driver of a device that shares the host's memory may not say how much.
    if (device.unified_memory && !device.memory_bytes)
      device.memory_bytes = report.host.memory_bytes;
  }
  return report;
}

}  // namespace gpl::host
