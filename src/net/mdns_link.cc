#include "mdns_link.h"

#include <algorithm>
#include <utility>

namespace gpl::net {
namespace {

constexpr std::uint16_t mdns_port = 5353;
// A question that goes out over both families is answered once.
constexpr Duration both_within = milliseconds(100);
constexpr std::size_t most_heard = 16;

}  // namespace

MdnsLink::MdnsLink(std::string interface, std::uint64_t seed, Moment now)
    : responder_(Prng(seed)), browser_(std::move(interface), Prng(seed ^ 1U), now) {}

void MdnsLink::announce(std::optional<MdnsService> service, Moment now) {
  service_ = std::move(service);
  browser_.set_own(service_, own_);
  responder_.announce(service_, now);
}

void MdnsLink::set_addresses(std::vector<IpAddress> of_link, std::set<IpAddress> own, Moment now) {
  own_ = std::move(own);
  browser_.set_own(service_, own_);
  responder_.set_addresses(std::move(of_link), now);
}

void MdnsLink::look(Moment now) { browser_.look(now); }

void MdnsLink::resume(Moment now) {
  responder_.repeat(now);
  browser_.look(now);
}

void MdnsLink::receive(std::string_view bytes, const MdnsSource& from, Moment now) {
  const Result<DnsMessage> message = decode_dns(bytes);
  if (!message.ok()) return;
  const DnsMessage& heard = message.value();
  if (heard.opcode != 0 || heard.rcode != 0) return;  // RFC 6762 sections 18.3 and 18.11
  if (heard.response) {
    if (from.port != mdns_port) return;  // section 6
    responder_.response(heard, from, own_, now);
    browser_.response(heard, from, now);
    return;
  }
  if (from.port == mdns_port && heard_over_the_other(bytes, from.address.v6, now)) return;
  responder_.query(heard, from, now);
}

bool MdnsLink::heard_over_the_other(std::string_view bytes, bool v6, Moment now) {
  while (!heard_.empty() && now - heard_.front().at > both_within) heard_.pop_front();
  const auto found = std::find_if(heard_.begin(), heard_.end(), [&](const Heard& heard) {
    return heard.v6 != v6 && heard.bytes == bytes;
  });
  if (found != heard_.end()) {
    heard_.erase(found);
    return true;
  }
  if (heard_.size() >= most_heard) heard_.pop_front();
  heard_.push_back({std::string(bytes), v6, now});
  return false;
}

void MdnsLink::tick(Moment now) {
  responder_.tick(now);
  browser_.tick(now);
}

Moment MdnsLink::wake() const {
  const auto responder = responder_.wake();
  const Moment browser = browser_.wake();
  return responder ? std::min(*responder, browser) : browser;
}

std::vector<MdnsPacket> MdnsLink::take_packets() {
  std::vector<MdnsPacket> packets = responder_.take_packets();
  for (std::string& bytes : browser_.take_queries())
    packets.push_back({std::move(bytes), std::nullopt});
  return packets;
}

}  // namespace gpl::net
