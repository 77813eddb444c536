// Any bytes as a packet of multicast DNS: read or refused; what was read is written and read back
// the same; and a link that gets it, as a query or an answer, stays within its bounds and sends
// only packets that can be read.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "../../src/net/mdns_link.h"
#include "gpl/net/dns_message.h"

namespace {

using namespace gpl;

void require(bool holds) {
  if (!holds) std::abort();
}

void read_back(std::string_view packet) {
  const auto decoded = net::decode_dns(packet);
  // Names that were compressed in SRV grow: what could exceed the format is not written.
  if (!decoded.ok() || packet.size() > 1000) return;
  const std::string bytes = net::encode_dns(decoded.value());
  if (bytes.size() > net::largest_dns_message) return;
  const auto again = net::decode_dns(bytes);
  require(again.ok() && again.value() == decoded.value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  read_back(input);

  Moment now;
  net::MdnsLink link("eth0", 1, now);
  const net::IpAddress own{false, {10, 0, 0, 1}};
  link.set_addresses({own}, {own}, now);
  link.announce(net::MdnsService{"a1", 7457, {{"id", "1"}}}, now);
  const auto turn = [&] {
    link.tick(now);
    for (const net::MdnsPacket& packet : link.take_packets())
      require(net::decode_dns(packet.bytes).ok());
  };
  for (int i = 0; i < 8; ++i) {
    turn();
    now = now + milliseconds(500);
  }
  require(link.announced());
  // Packets of up to 255 bytes, after a byte each for the length, the port and what the sender is.
  std::string_view rest = input;
  while (rest.size() > 2) {
    const auto length = static_cast<std::uint8_t>(rest[0]);
    const auto kind = static_cast<std::uint8_t>(rest[1]);
    const std::uint16_t port = (kind & 1) != 0 ? 1024 : 5353;
    net::MdnsSource from{{false, {10, 0, 0, 2}}, port, (kind & 2) != 0};
    const std::string packet(rest.substr(2, length));
    link.receive(packet, from, now);
    turn();
    now = now + milliseconds((kind >> 2) * 20);
    rest.remove_prefix(std::min(rest.size(), std::size_t{2} + length));
  }
  for (int i = 0; i < 20 && link.wake() < now + seconds(4000); ++i) {
    now = std::max(now, link.wake());
    turn();
    (void)link.take_events();
  }
  return 0;
}
