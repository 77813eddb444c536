#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpl::host {

/// What `nvidia-smi -q -x` says of a MIG slice: everything but its UUID.
struct NvidiaXmlSlice {
  std::optional<int> gpu_instance;
  std::optional<std::uint64_t> memory_bytes;
};

struct NvidiaXmlCard {
  std::string pci;  ///< normalised; "" unknown
  std::string uuid;
  std::vector<NvidiaXmlSlice> slices;  ///< in the order of `nvidia-smi -L`
};

/// Reads `nvidia-smi -q -x` of any version, of any bytes. A document that breaks off gives the
/// cards that are whole.
std::vector<NvidiaXmlCard> parse_nvidia_xml(std::string_view text);

}  // namespace gpl::host
