#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gpl/core/environment.h"
#include "gpl/core/result.h"
#include "gpl/core/time.h"
#include "gpl/host/framework_probe.h"

namespace gpl::host {

/// What one framework of one environment said of itself, and when.
struct FrameworkCheck {
  std::string environment_root;
  std::string framework;
  Instant at;
  FrameworkProbeAnswer answer;
  friend bool operator==(const FrameworkCheck&, const FrameworkCheck&) = default;
};

/// Runs the probe in the environment: a small Python program with a deadline and a bound on the
/// memory that it writes to (RLIMIT_DATA). That it fails is the answer's `error`. Blocks until
/// then. `inherited`: this process's environment, of which the program gets what a job would.
FrameworkCheck check_framework(const PythonEnvironment& environment, const FrameworkProbe& probe,
                               const std::vector<std::string>& inherited);

/// The last answers, kept in a state folder so that they can be shown beside the metadata's.
class FrameworkChecks {
 public:
  explicit FrameworkChecks(const std::string& state_folder) : folder_(state_folder + "/probes") {}
  Status keep(const FrameworkCheck& check) const;
  std::optional<FrameworkCheck> last(const std::string& environment_root,
                                     const std::string& framework) const;

 private:
  std::string folder_;
};

}  // namespace gpl::host
