#pragma once

#include <string_view>
#include <vector>

#include "gpl/host/device_findings.h"
#include "gpl/host/probe_process.h"

namespace gpl::host {

/// What is to be run on a Mac, in the order of `parse_apple`'s arguments.
std::vector<ProbeRequest> apple_requests(std::int64_t deadline_ms);

/// The GPU of an Apple Silicon machine, kind `mps`, which shares the host's memory: from `sysctl -n
/// hw.memsize machdep.cpu.brand_string` and `system_profiler SPDisplaysDataType -json`. A Mac with
/// an Intel processor has none. Of any bytes.
DeviceFindings parse_apple(std::string_view sysctl, std::string_view displays_json);

}  // namespace gpl::host
