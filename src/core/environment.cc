#include "gpl/core/environment.h"

#include <algorithm>

namespace gpl {

std::map<std::string, std::string> pseudo_frameworks(const PythonEnvironment& environment,
                                                     const std::vector<Accelerator>& devices) {
  std::map<std::string, std::string> offered;
  for (const auto& [name, build] : environment.frameworks) {
    for (const AcceleratorKind kind : build.backends) {
      const bool usable = std::any_of(
          devices.begin(), devices.end(),
          [&](const Accelerator& device) { return device.kind == kind && device.usable; });
      if (usable) offered[name + "." + std::string(name_of(kind))] = build.version;
    }
  }
  return offered;
}

}  // namespace gpl
