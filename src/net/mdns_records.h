#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpl/core/time.h"
#include "gpl/net/dns_message.h"
#include "gpl/net/mdns.h"
#include "interface.h"

namespace gpl::net {

/// What a packet may hold so that it is never cut on the way (RFC 6762 section 17): an Ethernet
/// frame's less the headers.
inline constexpr std::size_t packet_bytes = 1400;

/// How long records are believed (RFC 6762 section 10): those that name a host or its addresses,
/// and the others.
inline constexpr std::uint32_t host_ttl_s = 120;
inline constexpr std::uint32_t other_ttl_s = 4500;

/// A packet's sender.
struct MdnsSource {
  IpAddress address;
  std::uint16_t port = 0;
  bool own_machine = false;
  friend bool operator==(const MdnsSource&, const MdnsSource&) = default;
};

/// A packet to be sent: to the group over each family that the link has, or to one.
struct MdnsPacket {
  std::string bytes;
  std::optional<MdnsSource> to;
  friend bool operator==(const MdnsPacket&, const MdnsPacket&) = default;
};

const DnsName& service_type();   ///< _gpl._tcp.local
const DnsName& service_types();  ///< _services._dns-sd._udp.local (RFC 6763 section 9)
DnsName instance_name(const std::string& instance);
DnsName host_name(const std::string& instance);

/// The instance's label, in small letters: what instances are told apart by.
std::string instance_key(std::string_view instance);
/// One label of letters, digits and '-'.
bool is_instance(std::string_view label);
/// The label of a name of _gpl._tcp.local, if it is one of an instance.
std::optional<std::string> instance_of(const DnsName& name);

/// The keys and values that can be shown: printable ASCII, and a key not empty; the first of each.
std::map<std::string, std::string> text_of(const DnsTxt& txt);
DnsTxt txt_of(const std::map<std::string, std::string>& text);

DnsData data_of(const IpAddress& address);
/// Of an A or AAAA record.
std::optional<IpAddress> address_of(const DnsData& data);

/// All that a peer says of a service on one link, whose addresses these are. Those that are its
/// alone have the flush bit.
std::vector<DnsRecord> records_of(const MdnsService& service,
                                  const std::vector<IpAddress>& addresses);

/// The records in as few packets as hold them, each with the head of `frame`; of the additional
/// ones those that find room in the last.
std::vector<std::string> packed(const DnsMessage& frame, const std::vector<DnsRecord>& answers,
                                const std::vector<DnsRecord>& additionals);

}  // namespace gpl::net
