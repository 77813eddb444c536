#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gpl/core/device.h"
#include "gpl/core/version.h"

namespace gpl {

/// One framework in one environment, as its package metadata says.
struct FrameworkBuild {
  std::string version;             ///< as written
  std::string dist;                ///< the distribution that has it, PEP 503 normalised
  std::vector<std::string> dists;  ///< all that claim to be it, sorted; at least `dist`
  bool editable = false;
  std::vector<AcceleratorKind> backends;  ///< what this build can drive; none: the CPU alone
  std::string backend_version;            ///< "12.1"; "" unknown
  std::vector<std::string> warnings;
  friend bool operator==(const FrameworkBuild&, const FrameworkBuild&) = default;
};

/// One Python installation: system, venv, conda, pyenv.
struct PythonEnvironment {
  std::string name;            ///< "system", or its root with ~ for the home folder
  std::string root;            ///< sys.prefix
  std::string python;          ///< the interpreter's path; "" none there
  std::string python_version;  ///< "3.11.2"; "" unknown
  /// By framework name ("torch"); other packages are not told. The pseudo-frameworks ("torch.cuda")
  /// are not here: they depend on the devices beside it.
  std::map<std::string, FrameworkBuild> frameworks;
  std::vector<std::string> problems;
  friend bool operator==(const PythonEnvironment&, const PythonEnvironment&) = default;
};

/// "torch.cuda" and the like that `environment` offers beside these devices: the build can drive
/// that kind, and a usable device of the kind is there. By name, the version of the build.
std::map<std::string, std::string> pseudo_frameworks(const PythonEnvironment& environment,
                                                     const std::vector<Accelerator>& devices);

}  // namespace gpl
