// nvidia-smi -q -x: any bytes get an answer, in one pass and bounded depth.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "gpl/host/nvidia_query.h"
#include "gpl/host/nvidia_xml.h"
#include "gpl/host/xml_scanner.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const gpl::host::NvidiaXmlCard& card : gpl::host::parse_nvidia_xml(text)) {
    require(card.pci == gpl::host::normalised_pci_address(card.pci));
    for (const gpl::host::NvidiaXmlSlice& slice : card.slices) {
      require(!slice.gpu_instance || *slice.gpu_instance >= 0);
      require(slice.memory_bytes != std::uint64_t{0});
    }
  }
  gpl::host::XmlScanner scanner(text);
  std::size_t tokens = 0;
  for (auto token = scanner.next(); token != gpl::host::XmlScanner::Token::end;
       token = scanner.next()) {
    require(++tokens <= 2 * size);
    if (token == gpl::host::XmlScanner::Token::opening) (void)scanner.attribute("id");
    if (token == gpl::host::XmlScanner::Token::text) require(scanner.text().size() <= size);
  }
  return 0;
}
