#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpl/core/device_visibility.h"

namespace gpl {

/// A device, a slice of one, or a part of its memory, that an attempt has to itself.
struct DeviceClaim {
  DeviceChoice device;
  std::optional<std::uint64_t> shared_memory_bytes;  ///< nothing: all of it
  friend bool operator==(const DeviceClaim&, const DeviceClaim&) = default;
};

/// What an attempt has of its peer, from its placement to its end.
struct Allocation {
  int cpus = 0;
  std::uint64_t memory_bytes = 0;
  std::vector<DeviceClaim> devices;
  std::string environment;  ///< root of the Python environment chosen; "": none
  friend bool operator==(const Allocation&, const Allocation&) = default;
};

}  // namespace gpl
