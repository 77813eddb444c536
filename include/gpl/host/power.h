#pragma once

#include "gpl/host/system_root.h"

namespace gpl::host {

/// Whether the machine runs on a battery when it is unplugged: a laptop. Batteries of its mice and
/// the like (sysfs-class-power, `scope` Device) do not count.
bool has_battery(const SystemRoot& root);

/// Whether its default route (the one of lowest metric, IPv4 before IPv6) goes by radio.
bool is_wireless(const SystemRoot& root);

}  // namespace gpl::host
