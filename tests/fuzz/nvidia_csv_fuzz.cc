// nvidia-smi's CSV: any bytes get an answer, and what is taken keeps its promises.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "gpl/host/nvidia_query.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> fields = gpl::host::nvidia_query_fields();
  if (size % 2 == 1) fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(size / 2 % 11));
  for (const gpl::Accelerator& card : gpl::host::parse_nvidia_query(text, fields).cards) {
    require(card.index >= -1);
    require(card.memory_bytes != std::uint64_t{0});
    require(card.usable || !card.problems.empty());
    require(!card.unified_memory || (card.usable && !card.memory_bytes));
    require(card.pci == gpl::host::normalised_pci_address(card.pci));
  }
  if (const auto field = gpl::host::unknown_nvidia_field(text)) require(!field->empty());
  const std::string pci = gpl::host::pci_address_in(text);
  require(pci == gpl::host::normalised_pci_address(pci));
  return 0;
}
