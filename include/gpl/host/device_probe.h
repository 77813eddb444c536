#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpl/core/device.h"
#include "gpl/host/device_findings.h"

namespace gpl::host {

struct DeviceProbeOptions {
  std::string root;                      ///< of /sys, /proc, /dev, /usr/lib/wsl; "": the machine's
  std::int64_t deadline_ms = 10'000;     ///< of each run of a vendor's tool
  std::vector<std::string> environment;  ///< "NAME=VALUE": PATH, GPL_NVIDIA_SMI; the tools get it
  std::string working_folder = "/";      ///< what a relative path in it is relative to
};

/// What a machine has, and what could not be found out.
struct DeviceReport {
  HostFacts host;
  std::vector<Accelerator> accelerators;  ///< NVIDIA's, AMD's, Intel's, Apple's, each by index
  std::vector<ProbeProblem> problems;
};

/// Looks at this machine. Never fails: what it cannot find out is a problem in the report. Blocks
/// while vendors' tools run, a few deadlines at most.
DeviceReport probe_devices(const DeviceProbeOptions& options);

/// The nvidia-smi to run: $GPL_NVIDIA_SMI, else the one on PATH, else WSL's. `path` is "" when
/// there is none; `problem` says what is there and cannot be run.
struct NvidiaTool {
  std::string path;
  std::string problem;
};
NvidiaTool find_nvidia_tool(const DeviceProbeOptions& options);

}  // namespace gpl::host
