#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include "commands.h"
#include "devices_report.h"
#include "gpl/core/time.h"
#include "gpl/host/configuration.h"
#include "gpl/host/device_ledger.h"
#include "gpl/host/device_probe.h"
#include "gpl/host/folders.h"
#include "gpl/host/framework_check.h"
#include "gpl/host/python_env.h"
#include "gpl/host/user.h"
#include "gpl/posix/clock.h"
#include "option_table.h"
#include "output.h"

namespace gpl::cmd {
namespace {

using Kind = OptionRow::Kind;

constexpr OptionRow rows[] = {
    {"environment", Kind::list, "DIR", "Options:", "look at this Python environment too"},
    {"probe", Kind::list, "NAME",
     "Options:", "ask this framework (torch, jax, cupy...) what it sees: runs a Python program"},
    {"timeout", Kind::value, "DUR", "Options:", "how long a vendor's tool may take (10s)"},
    {"json", Kind::flag, "", "Options:", "print one object"},
    {"quiet", Kind::flag, "", "Options:", "print just the ids of the usable devices"},
    {"help", Kind::flag, "", "Options:", "print this"},
};

constexpr const char* help_head =
    R"(Show what this machine has: processors, memory, accelerators and Python environments.

  gpl devices
  gpl devices --json | jq '.accelerators[] | select(.usable) | .name'
  gpl devices --environment ~/venvs/llm

Usage: gpl devices [OPTIONS]

What cannot be found out is shown as unknown, and why as a problem; the exit code is 0 then too.
)";

int fail(const std::string& message) {
  complain("devices: " + message);
  return 2;
}

std::string working_folder() {
  const std::unique_ptr<char, decltype(&std::free)> folder(::getcwd(nullptr, 0), &std::free);
  return folder == nullptr || folder.get()[0] != '/' ? "/" : folder.get();
}

std::vector<std::string> own_environment() {
  std::vector<std::string> entries;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    entries.emplace_back(*entry);
  }
  return entries;
}

host::DeviceReport probe(Duration timeout) {
  host::DeviceProbeOptions options;
  options.deadline_ms = timeout.count_ms;
  options.environment = own_environment();
  options.working_folder = working_folder();
  return host::probe_devices(options);
}

// The roots that gpl.toml names; that it cannot be read is a problem, and hides nothing else.
std::vector<std::string> configured_roots(std::vector<ProbeProblem>& problems) {
  const Result<host::Folders> folders = host::user_folders();
  if (!folders.ok()) return {};
  const Result<host::Configuration> configuration =
      host::read_configuration(folders.value().configuration + "/gpl.toml");
  if (configuration.ok()) return configuration.value().environments;
  problems.push_back({"gpl.toml", std::nullopt, configuration.error().message});
  return {};
}

std::vector<PythonEnvironment> find_environments(const std::vector<std::string>& asked,
                                                 std::vector<ProbeProblem>& problems) {
  host::EnvironmentSearch search =
      host::environment_search(own_environment(), host::current_user().home, working_folder());
  search.asked = asked;
  search.configured = configured_roots(problems);
  host::FoundEnvironments found = host::find_environments(search);
  problems.insert(problems.end(), found.problems.begin(), found.problems.end());
  return std::move(found.environments);
}

std::vector<DeviceHold> current_holds(host::DeviceReport& report) {
  if (report.accelerators.empty()) return {};
  const Result<host::DeviceLedger> ledger = host::DeviceLedger::open();
  if (ledger.ok()) return ledger.value().holds(report.accelerators);
  report.problems.push_back({"device ledger", std::nullopt, ledger.error().message});
  return {};
}

Error unknown_probe(const std::string& name) {
  std::string known;
  for (const host::FrameworkProbe& probe : host::framework_probes()) {
    known += (known.empty() ? "" : ", ") + std::string(probe.name);
  }
  return Error{Code::invalid, "--probe '" + name + "': there are probes of " + known};
}

// Asks those named, in every environment that has them; shows the last answers of the others.
Status ask_frameworks(const std::vector<std::string>& names, Inventory& inventory) {
  for (const std::string& name : names) {
    if (host::framework_probe(name) == nullptr) return unknown_probe(name);
  }
  const Result<host::Folders> folders = host::user_folders();
  const host::FrameworkChecks kept(folders.ok() ? folders.value().state : "/nonexistent");
  for (const PythonEnvironment& environment : inventory.environments) {
    for (const auto& [framework, build] : environment.frameworks) {
      const host::FrameworkProbe* probe = host::framework_probe(framework);
      if (probe == nullptr || environment.python.empty()) continue;
      if (std::find(names.begin(), names.end(), framework) == names.end()) {
        auto last = kept.last(environment.root, framework);
        if (last) inventory.checks.push_back(std::move(*last));
        continue;
      }
      inventory.checks.push_back(host::check_framework(environment, *probe, own_environment()));
      if (Status status = kept.keep(inventory.checks.back()); !status.ok()) {
        inventory.report.problems.push_back({"probe", std::nullopt, status.error().message});
      }
    }
  }
  return success();
}

}  // namespace

std::span<const OptionRow> devices_options() { return rows; }

int devices_command(const Invocation& invocation) {
  const Result<ParsedOptions> options = parse_mixed_options(rows, invocation.args);
  if (!options.ok()) return fail(options.error().message);
  if (options.value().has("help")) return print(help_head + describe_options(rows));
  if (!options.value().rest.empty()) {
    return fail("takes no words: " + shell_words(options.value().rest));
  }
  Result<Duration> timeout = seconds(10);
  if (options.value().has("timeout")) timeout = parse_duration(options.value().last("timeout"));
  if (!timeout.ok()) return fail("--timeout: " + timeout.error().message);

  Inventory inventory;
  inventory.report = probe(timeout.value());
  if (options.value().has("quiet")) return print(device_ids(inventory.report));
  inventory.environments =
      find_environments(options.value().all("environment"), inventory.report.problems);
  inventory.holds = current_holds(inventory.report);
  if (Status asked = ask_frameworks(options.value().all("probe"), inventory); !asked.ok()) {
    return fail(asked.error().message);
  }
  inventory.now = posix::wall_clock();
  return print(options.value().has("json") ? devices_json(inventory) : devices_table(inventory));
}

}  // namespace gpl::cmd
