#include "gpl/host/job_environment.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "gpl/host/configuration.h"

namespace gpl::host {
namespace {

using Variables = std::map<std::string, std::string, std::less<>>;

bool always_inherited(std::string_view name) {
  return name == "PATH" || name == "LANG" || name == "VIRTUAL_ENV";
}

// A launcher inside the job would take these for its own batch system's.
bool scrubbed(std::string_view name) {
  return name.starts_with("SLURM_") || name.starts_with("OMPI_") || name.starts_with("PMI_");
}

bool forwarded(const std::vector<std::string>& globs, std::string_view name) {
  return std::any_of(globs.begin(), globs.end(),
                     [&](const std::string& glob) { return matches(glob, name); });
}

void inherit(const EnvironmentSource& source, Variables& variables) {
  for (const std::string& entry : source.inherited) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos || equals == 0) continue;
    const std::string_view name = std::string_view(entry).substr(0, equals);
    if (scrubbed(name)) continue;
    if (always_inherited(name) || forwarded(source.forward, name)) {
      variables.try_emplace(std::string(name),
                            entry.substr(equals + 1));  // as getenv(3): the first
    }
  }
}

void choose_python(const PythonChoice& python, Variables& variables) {
  if (python.folder.empty()) return;
  variables["PATH"] = python.folder + ":" + variables["PATH"];
  variables.erase("VIRTUAL_ENV");  // the caller's: another one
  if (!python.variable.empty()) variables[python.variable] = python.root;
}

}  // namespace

std::vector<std::string> job_environment(const EnvironmentSource& source) {
  Variables variables;
  inherit(source, variables);
  variables.try_emplace("PATH", "/usr/local/bin:/usr/bin:/bin");
  variables["HOME"] = source.user.home;
  variables["USER"] = source.user.name;
  variables["SHELL"] = source.user.shell;
  variables["TMPDIR"] = source.temp_folder;
  variables["PYTHONUNBUFFERED"] = "1";
  variables["GPL_JOB_ID"] = std::to_string(source.job.value);
  variables["GPL_TASK_ID"] = std::to_string(source.task.value);
  variables["GPL_ATTEMPT"] = std::to_string(source.attempt.value);
  variables["GPL_PEER"] = source.peer;
  for (const std::string& name : source.devices.unset) variables.erase(name);
  for (const auto& [name, value] : source.devices.set) variables[name] = value;
  if (source.cpus) variables["OMP_NUM_THREADS"] = std::to_string(*source.cpus);
  choose_python(source.python, variables);
  for (const EnvironmentVariable& asked : source.asked) variables[asked.name] = asked.value;

  std::vector<std::string> entries;
  for (const auto& [name, value] : variables) {
    entries.push_back(name);
    entries.back().append("=").append(value);
  }
  return entries;
}

}  // namespace gpl::host
