#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gpl/core/device.h"
#include "gpl/core/framework_table.h"
#include "gpl/host/site_packages.h"
#include "gpl/host/system_root.h"

namespace gpl::host {

/// What one build of a framework can drive.
struct FrameworkBackends {
  std::vector<AcceleratorKind> kinds;  ///< in the order of the enum, each once; none: the CPU alone
  std::string version;                 ///< of CUDA or ROCm that it was built for; "" unknown
  friend bool operator==(const FrameworkBackends&, const FrameworkBackends&) = default;

  void add(AcceleratorKind kind, const std::string& kind_version);
};

/// From files alone, by the first evidence that decides: what the build's own version file says, as
/// text; the shared objects that are there; the local version's tag; conda's build string; the
/// distribution's name (not of an editable install, which may have been built for anything); a
/// wheel for Apple Silicon. `conda_build` is "" when conda has no record of it.
FrameworkBackends framework_backends(const SystemRoot& root, const Distribution& distribution,
                                     const FrameworkVariant& variant,
                                     const std::string& conda_build);

/// The version that the framework's own files say, where a file that can be read as text says it
/// (torch/version.py); nothing when none does.
std::optional<std::string> version_in_files(const SystemRoot& root,
                                            const Distribution& distribution,
                                            std::string_view framework);

/// The framework whose build decides what `framework` drives as well: jax runs on jaxlib. "" none.
std::string_view backend_provider(std::string_view framework);

}  // namespace gpl::host
