#pragma once

#include <vector>

#include "gpl/core/device.h"

namespace gpl::host {

/// What a probe found, and what went wrong.
struct DeviceFindings {
  std::vector<Accelerator> accelerators;
  std::vector<ProbeProblem> problems;
};

}  // namespace gpl::host
