#pragma once

#include <optional>
#include <string_view>

#include "gpl/core/device.h"
#include "gpl/host/system_root.h"

namespace gpl::host {

/// This machine, as this process may use it: the processors of its affinity mask, no more than its
/// control groups' CPU quota (rounded up); the memory of the machine, or of the tightest control
/// group. Control groups of version 2 (the kernel's cgroup-v2.rst).
HostFacts host_facts(const SystemRoot& root);

/// The bytes of /proc/meminfo's MemTotal; nothing when it does not say.
std::optional<std::uint64_t> parse_meminfo(std::string_view text);

/// How many processors' time `cpu.max` allows, rounded up: "150000 100000" is 2. Nothing: no limit.
std::optional<int> parse_cpu_quota(std::string_view text);

}  // namespace gpl::host
