#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gpl/host/device_findings.h"
#include "gpl/host/system_root.h"

namespace gpl::host {

/// What /sys/class/kfd/kfd/topology/nodes/N/properties says of a node. KFD is the compute side of
/// the kernel's amdgpu driver; a node is a CPU, a GPU, or both in one (an APU).
struct KfdProperties {
  std::uint64_t cpu_cores = 0;
  std::uint64_t simds = 0;  ///< 0: no GPU
  std::uint64_t vendor = 0;
  std::uint64_t gfx_target = 0;  ///< 90402 for gfx942
  std::uint64_t location = 0;    ///< bus << 8 | device << 3 | function
  std::uint64_t domain = 0;
  std::uint64_t render_minor = 0;
  std::uint64_t unique_id = 0;  ///< 0: the card has none
};

/// Reads `NAME NUMBER` lines; others are passed over.
KfdProperties parse_kfd_properties(std::string_view text);

/// The compiler's name of a target: "gfx90a" of 90010. "" for 0.
std::string gfx_name(std::uint64_t gfx_target);

/// AMD's GPUs: those that KFD offers, in its order, which is ROCr's; then those that only have a
/// display driver, as not usable. A card is usable when /dev/kfd and its render node are.
DeviceFindings find_amd(const SystemRoot& root);

}  // namespace gpl::host
