#include "environment_fit.h"

#include <algorithm>
#include <utility>

#include "kind_fit.h"
#include "word_list.h"

namespace gpl {
namespace {

std::string upper(std::string_view word) {
  std::string text(word);
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

bool usable_device(const PeerView& peer, AcceleratorKind kind) {
  return std::any_of(
      peer.accelerators.begin(), peer.accelerators.end(),
      [&](const Accelerator& device) { return device.kind == kind && device.usable; });
}

// By the framework's name, or by that of a distribution that has it ("onnxruntime-gpu").
const FrameworkBuild* find_build(const PythonEnvironment& environment, const std::string& name) {
  const auto found = environment.frameworks.find(name);
  if (found != environment.frameworks.end()) return &found->second;
  for (const auto& [framework, build] : environment.frameworks) {
    if (std::find(build.dists.begin(), build.dists.end(), name) != build.dists.end()) return &build;
  }
  return nullptr;
}

std::string in_environment(const PythonEnvironment& environment) {
  return "environment " + environment.name;
}

// "~/venvs/jax has 0.4.30": of the other environments, the first that has it.
std::string elsewhere(const FrameworkWish& wish, const PeerView& peer) {
  for (const PythonEnvironment& environment : peer.environments) {
    if (const FrameworkBuild* build = find_build(environment, wish.name)) {
      return environment.name + " has " + (build->version.empty() ? "it" : build->version);
    }
  }
  return "";
}

std::string environments_looked_at(const PeerView& peer) {
  const std::size_t count = peer.environments.size();
  if (count == 0) return "no Python environment found";
  return std::to_string(count) + (count == 1 ? " environment" : " environments") + " looked at";
}

// `environment` is the one that comes nearest; nullptr when there is none.
Reason missing(const FrameworkWish& wish, const PeerView& peer,
               const PythonEnvironment* environment) {
  const std::string other = elsewhere(wish, peer);
  std::string where = environments_looked_at(peer);
  if (environment != nullptr && !other.empty()) where = in_environment(*environment) + "; " + other;
  Reason reason;
  reason.code = ReasonCode::framework_missing;
  reason.subject = wish.shown_name();
  reason.asked = wish.specifiers.to_string();
  reason.text = "framework '" + wish.name + "' not installed (" + where + ")";
  std::string change = wish.shown_name() + (reason.asked.empty() ? "" : " " + reason.asked);
  change += " is installed";
  if (environment != nullptr && peer.environments.size() > 1) change += " in " + environment->name;
  reason.remedies = {{std::move(change), "", 20}};
  return reason;
}

// Whether the release that it leads to would do: 1.13.0a0 looks like a 1.13 and comes before it.
bool only_a_prerelease(const FrameworkWish& wish, const FrameworkBuild& build) {
  const Result<Version> version = Version::parse(build.version);
  if (!version.ok() || !version.value().is_prerelease()) return false;
  VersionParts parts = version.value().parts();
  parts.pre.reset();
  parts.dev.reset();
  return wish.specifiers.contains(Version(std::move(parts)));
}

Reason wrong_version(const FrameworkWish& wish, const FrameworkBuild& build,
                     const PythonEnvironment& environment) {
  Reason reason;
  reason.code = ReasonCode::framework_version;
  reason.subject = wish.shown_name();
  reason.asked = wish.specifiers.to_string();
  reason.has = build.version.empty() ? "unknown" : build.version;
  reason.text = wish.name + " " + (build.version.empty() ? "of unknown version" : build.version) +
                " does not satisfy " + reason.asked + " (" + in_environment(environment) +
                (only_a_prerelease(wish, build) ? "; it is a pre-release)" : ")");
  reason.remedies = {{wish.name + " " + reason.asked, "it has " + reason.has}};
  return reason;
}

Reason wrong_build(const FrameworkWish& wish, const FrameworkBuild& build,
                   const PythonEnvironment& environment) {
  const std::string kind(name_of(*wish.backend));
  std::vector<std::string> has;
  for (const AcceleratorKind each : build.backends) has.emplace_back(name_of(each));
  Reason reason;
  reason.code = ReasonCode::framework_backend;
  reason.subject = wish.shown_name();
  reason.asked = kind;
  reason.has = has.empty() ? "cpu" : joined(has, ", ");
  const std::string what = wish.name + (build.version.empty() ? "" : " " + build.version);
  reason.text = wish.shown_name() + ": " + what + " is a build for " +
                (has.empty() ? "the CPU alone" : joined(has, ", ")) + " (" +
                in_environment(environment) + ")";
  reason.remedies = {{"its " + wish.name + " is a build for " + kind, "it has " + what, 20}};
  return reason;
}

// Why no device of the kind can be used, where that is known and --gpus does not already say it.
std::string why_no_device(const Requirement& requirement, const PeerView& peer,
                          AcceleratorKind kind) {
  if (requirement.gpus > 0) return "";
  std::vector<std::string> why;
  for (const Accelerator& device : peer.accelerators) {
    if (device.kind != kind) continue;
    why.push_back(std::string(name_of(kind)) + ":" + std::to_string(device.index) + ": " +
                  (device.problems.empty() ? "unusable" : device.problems.front()));
  }
  if (const std::string failure = probe_failure(peer, kind); !failure.empty()) {
    why.push_back(failure);
  }
  return why.empty() ? "" : " (" + joined(why, "; ") + ")";
}

Reason no_device(const Requirement& requirement, const FrameworkWish& wish, const PeerView& peer) {
  const std::string kind(name_of(*wish.backend));
  Reason reason;
  reason.code = ReasonCode::framework_device;
  reason.subject = wish.shown_name();
  reason.asked = kind;
  reason.text = wish.shown_name() + ": no " + upper(kind) + " device is usable" +
                why_no_device(requirement, peer, *wish.backend);
  const bool there =
      std::any_of(peer.accelerators.begin(), peer.accelerators.end(),
                  [&](const Accelerator& each) { return each.kind == wish.backend; });
  reason.remedies = {
      {"it has a usable " + upper(kind) + " device", "", there ? 30 : Remedy::out_of_reach}};
  return reason;
}

// Everything about one framework that one environment does not have.
void judge_framework(const FrameworkWish& wish, const PeerView& peer,
                     const PythonEnvironment& environment, std::vector<Reason>& reasons) {
  if (const FrameworkBuild* build = find_build(environment, wish.name)) {
    const Result<Version> version = Version::parse(build->version);
    if (!wish.specifiers.empty() && (!version.ok() || !wish.specifiers.contains(version.value()))) {
      reasons.push_back(wrong_version(wish, *build, environment));
    }
    const bool drives = wish.backend && std::find(build->backends.begin(), build->backends.end(),
                                                  *wish.backend) != build->backends.end();
    if (wish.backend && !drives) reasons.push_back(wrong_build(wish, *build, environment));
  } else {
    reasons.push_back(missing(wish, peer, &environment));
  }
}

std::vector<Reason> judge_environment(const Requirement& requirement, const PeerView& peer,
                                      const PythonEnvironment& environment) {
  std::vector<Reason> reasons;
  if (environment.python.empty()) {
    Reason reason;
    reason.code = ReasonCode::environment_without_python;
    reason.subject = "environment";
    reason.has = environment.name;
    reason.text = in_environment(environment) + " has no Python interpreter";
    reason.remedies = {{in_environment(environment) + " has a Python interpreter", "", 20}};
    reasons.push_back(std::move(reason));
  }
  for (const FrameworkWish& wish : requirement.frameworks) {
    judge_framework(wish, peer, environment, reasons);
  }
  return reasons;
}

std::string_view without_slashes(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return path;
}

bool is_named(const Requirement& requirement, const PythonEnvironment& environment) {
  const std::string_view asked = without_slashes(requirement.environment);
  return asked.empty() || asked == environment.name || asked == environment.root;
}

Reason no_such_environment(const Requirement& requirement, const PeerView& peer) {
  std::vector<std::string> names;
  for (const PythonEnvironment& environment : peer.environments) names.push_back(environment.name);
  Reason reason;
  reason.code = ReasonCode::environment_missing;
  reason.subject = "environment";
  reason.asked = requirement.environment;
  reason.has = joined(names, ", ");
  const std::string there = names.empty() ? "it has none" : "it has " + reason.has;
  reason.text = "environment '" + requirement.environment + "' not found; " + there;
  std::vector<std::string> wanted;
  for (const FrameworkWish& wish : requirement.frameworks) wanted.push_back(wish.shown_name());
  reason.remedies = {{"environment '" + requirement.environment + "' is there" +
                          (wanted.empty() ? "" : " with " + in_words(wanted)),
                      there, 20}};
  return reason;
}

// How far an environment is from doing: by effort, then by how many frameworks it has not at all.
std::pair<int, int> distance_of(const std::vector<Reason>& reasons) {
  int effort = 0;
  int missing_count = 0;
  for (const Reason& reason : reasons) {
    for (const Remedy& remedy : reason.remedies) effort += remedy.effort;
    if (reason.code == ReasonCode::framework_missing) ++missing_count;
  }
  return {effort, missing_count};
}

// The environment that lacks nothing, into `placement`; else what the nearest lacks.
std::vector<Reason> judge_environments(const Requirement& requirement, const PeerView& peer,
                                       Placement& placement) {
  std::optional<std::vector<Reason>> nearest;
  for (std::size_t i = 0; i < peer.environments.size(); ++i) {
    if (!is_named(requirement, peer.environments[i])) continue;
    std::vector<Reason> lacks = judge_environment(requirement, peer, peer.environments[i]);
    if (lacks.empty()) {
      placement.environment = i;
      return {};
    }
    if (!nearest || distance_of(lacks) < distance_of(*nearest)) nearest = std::move(lacks);
  }
  if (nearest) return *nearest;
  if (!requirement.environment.empty()) return {no_such_environment(requirement, peer)};
  std::vector<Reason> reasons;
  for (const FrameworkWish& wish : requirement.frameworks) {
    reasons.push_back(missing(wish, peer, nullptr));
  }
  return reasons;
}

}  // namespace

void choose_environment(const Requirement& requirement, const PeerView& peer, Placement& placement,
                        std::vector<Reason>& reasons) {
  if (!requirement.wants_environment()) return;
  const std::vector<Reason> lacks = judge_environments(requirement, peer, placement);
  reasons.insert(reasons.end(), lacks.begin(), lacks.end());
  for (const FrameworkWish& wish : requirement.frameworks) {
    if (wish.backend && !usable_device(peer, *wish.backend)) {
      reasons.push_back(no_device(requirement, wish, peer));
    }
  }
}

}  // namespace gpl
