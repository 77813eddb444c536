// What the kernel says of AMD's GPUs and of the machine: any bytes get an answer.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "gpl/host/amd.h"
#include "gpl/host/apple.h"
#include "gpl/host/host_facts.h"
#include "gpl/host/sysfs.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)gpl::host::gfx_name(gpl::host::parse_kfd_properties(text).gfx_target);
  (void)gpl::host::parse_meminfo(text);
  (void)gpl::host::parse_cpu_quota(text);
  (void)gpl::host::uevent_value(text, "PCI_SLOT_NAME");
  const std::size_t half = size / 2;
  (void)gpl::host::parse_apple(text.substr(0, half), text.substr(half));
  return 0;
}
