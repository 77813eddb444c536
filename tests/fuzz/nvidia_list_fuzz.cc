// nvidia-smi -L: any bytes get an answer; a card is a card or the message in its place.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "gpl/host/nvidia_list.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const gpl::host::NvidiaListed& card : gpl::host::parse_nvidia_list(text).cards) {
    require(card.index >= 0);
    require(card.fault.empty() || (card.name.empty() && card.uuid.empty() && card.slices.empty()));
    for (const gpl::Partition& slice : card.slices) require(slice.uuid.starts_with("MIG-"));
  }
  (void)gpl::host::names_a_bad_card(text);
  return 0;
}
