#include "gpl/client/embedded_placement.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>

#include "gpl/host/device_ledger.h"
#include "gpl/host/device_probe.h"
#include "gpl/host/host_facts.h"
#include "gpl/host/machine.h"
#include "gpl/host/python_choice.h"
#include "gpl/host/python_env.h"
#include "gpl/host/user.h"
#include "gpl/posix/clock.h"

namespace gpl::client {
namespace {

constexpr int look_again_ms = 250;

std::vector<std::string> own_environment() {
  std::vector<std::string> entries;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    entries.emplace_back(*entry);
  }
  return entries;
}

std::string current_folder() {
  char folder[PATH_MAX];
  return ::getcwd(folder, sizeof folder) != nullptr ? folder : "/";
}

// An environment named as a folder is known by its root, without links.
Requirement with_real_environment(Requirement requirement) {
  if (requirement.environment.find('/') == std::string::npos) return requirement;
  char real[PATH_MAX];
  if (::realpath(requirement.environment.c_str(), real) != nullptr) requirement.environment = real;
  return requirement;
}

bool asks_about_devices(const Requirement& requirement) {
  return requirement.gpus > 0 ||
         std::any_of(requirement.frameworks.begin(), requirement.frameworks.end(),
                     [](const FrameworkWish& wish) { return wish.backend.has_value(); });
}

Error refusal(const Explanation& explanation) {
  // "never: no peer can run this: ..." without its first word, as one line, and the nearest miss.
  std::string text = explanation.headline.substr(explanation.headline.find(' ') + 1);
  if (!explanation.nearest.empty()) text += "\ngpl: nearest: " + explanation.nearest;
  return Error{Code::unsupported, std::move(text)};
}

DeviceHold hold_of(JobId job, std::optional<Duration> time_limit) {
  DeviceHold hold;
  hold.holder = "job " + std::to_string(job.value) + " of " + host::current_user().name + " (pid " +
                std::to_string(::getpid()) + ")";
  hold.since = posix::wall_clock();
  if (time_limit) hold.ends_by = posix::wall_clock() + *time_limit;
  return hold;
}

// One try, while no other process places: "" when the job has its devices, else what is in the way.
Result<std::string> try_to_place(const host::DeviceLedger& ledger, const Requirement& requirement,
                                 const DeviceHold& who, EmbeddedPlacement& placed) {
  const Result<posix::Fd> turn = ledger.begin_placing();
  if (!turn.ok() && turn.error().code == Code::busy) return turn.error().message;
  if (!turn.ok()) return turn.error();
  placed.peer.holds = ledger.holds(placed.peer.accelerators);
  const Explanation explanation = explain(requirement, {placed.peer}, posix::wall_clock());
  const Fit& fit = explanation.peers.front().fit;
  if (explanation.verdict == Verdict::never) return refusal(explanation);
  if (!fit.fits()) return fit.reasons.front().text;
  Result<std::vector<posix::Fd>> locks = ledger.take(*fit.placement, placed.peer.accelerators, who);
  if (!locks.ok()) return std::move(locks).error();
  placed.placement = *fit.placement;
  placed.locks = std::move(locks).value();
  return std::string();
}

// Nothing came free before a signal did.
bool wait_for_signal(SignalWatch& signals, int& stopped_by) {
  pollfd event{signals.descriptor(), POLLIN, 0};
  (void)::poll(&event, 1, look_again_ms);
  for (const int number : signals.take()) stopped_by = number;
  return stopped_by != 0;
}

}  // namespace

host::PythonChoice python_of(const EmbeddedPlacement& placed) {
  if (!placed.placement.environment) return {};
  const PythonEnvironment& environment = placed.peer.environments[*placed.placement.environment];
  return host::python_choice(environment);
}

PeerView view_of_this_machine(const Requirement& requirement,
                              const host::Configuration& configuration) {
  PeerView view;
  view.name = host::host_name();
  if (asks_about_devices(requirement)) {
    host::DeviceProbeOptions options;
    options.environment = own_environment();
    options.working_folder = current_folder();
    host::DeviceReport report = host::probe_devices(options);
    view.host = std::move(report.host);
    view.accelerators = std::move(report.accelerators);
    view.problems = std::move(report.problems);
  } else if (requirement.cpus || requirement.memory_bytes) {
    view.host = host::host_facts(host::SystemRoot());
  }
  if (requirement.wants_environment()) {
    host::EnvironmentSearch search =
        host::environment_search(own_environment(), host::current_user().home, current_folder());
    search.configured = configuration.environments;
    // A folder that the user names need not be a place where gpl would look.
    if (requirement.environment.find('/') != std::string::npos) {
      search.asked.push_back(requirement.environment);
    }
    host::FoundEnvironments found = host::find_environments(search);
    view.environments = std::move(found.environments);
    view.problems.insert(view.problems.end(), found.problems.begin(), found.problems.end());
  }
  view.reported_at = posix::wall_clock();
  return view;
}

Result<Explanation> explain_here(const Requirement& asked,
                                 const host::Configuration& configuration) {
  const Requirement requirement = with_real_environment(asked);
  PeerView view = view_of_this_machine(requirement, configuration);
  if (requirement.gpus > 0) {
    Result<host::DeviceLedger> ledger = host::DeviceLedger::open();
    if (!ledger.ok()) return std::move(ledger).error();
    view.holds = ledger.value().holds(view.accelerators);
  }
  return explain(requirement, {view}, posix::wall_clock());
}

Result<PeerView> admit_here(const Requirement& asked, const host::Configuration& configuration) {
  const Requirement requirement = with_real_environment(asked);
  PeerView view = view_of_this_machine(requirement, configuration);
  const Explanation explanation = explain(requirement, {view}, posix::wall_clock());
  if (explanation.verdict == Verdict::never) return refusal(explanation);
  return view;
}

Result<EmbeddedPlacement> place_here(const Requirement& asked, PeerView peer, JobId job,
                                     std::optional<Duration> time_limit, SignalWatch& signals,
                                     const Voice& voice, int& stopped_by) {
  const Requirement requirement = with_real_environment(asked);
  EmbeddedPlacement placed;
  placed.peer = std::move(peer);
  if (requirement.gpus == 0) {
    const Fit fit = judge(requirement, placed.peer, posix::wall_clock());
    if (!fit.fits()) return Error{Code::unsupported, fit.reasons.front().text};
    placed.placement = *fit.placement;
    return placed;
  }
  Result<host::DeviceLedger> ledger = host::DeviceLedger::open();
  if (!ledger.ok()) return std::move(ledger).error();
  std::string said;
  for (;;) {
    Result<std::string> obstacle =
        try_to_place(ledger.value(), requirement, hold_of(job, time_limit), placed);
    if (!obstacle.ok()) return std::move(obstacle).error();
    if (obstacle.value().empty()) return placed;
    if (said.empty()) voice.say("waiting for " + obstacle.value());
    said = obstacle.value();
    if (wait_for_signal(signals, stopped_by)) return Error{Code::busy, "interrupted"};
  }
}

}  // namespace gpl::client
