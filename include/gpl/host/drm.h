#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpl/host/system_root.h"

namespace gpl::host {

inline constexpr std::uint64_t amd_pci_vendor = 0x1002;
inline constexpr std::uint64_t intel_pci_vendor = 0x8086;

/// One /sys/class/drm/cardN, as the kernel describes its device.
struct DrmCard {
  std::string folder;         ///< /sys/class/drm/cardN
  std::string render_node;    ///< /dev/dri/renderDN; "" none
  std::string pci;            ///< normalised; "" unknown
  std::string pci_id;         ///< "8086:56A0"; "" unknown
  std::string kernel_driver;  ///< "i915"
};

/// The cards of a PCI vendor by their number: not its connectors, nor other vendors' cards that may
/// come first (a board's own display chip).
std::vector<DrmCard> drm_cards(const SystemRoot& root, std::uint64_t vendor);

/// The version of a kernel module, else that of the kernel that it came with.
std::string kernel_driver_version(const SystemRoot& root, const std::string& module);

/// Why this process cannot use a device node, with the way out; "" when it can.
std::string node_problem(const SystemRoot& root, const std::string& node);

}  // namespace gpl::host
