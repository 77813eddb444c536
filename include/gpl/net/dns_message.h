#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gpl/core/result.h"

namespace gpl::net {

/// What a packet of multicast DNS holds at most, headers of IP and UDP aside (RFC 6762 section 17).
inline constexpr std::size_t largest_dns_message = 9000;

/// A domain name, its labels from the left, each of 1 to 63 bytes, 255 bytes in all on the wire.
/// ASCII letters compare without regard to their case (RFC 6762 section 16).
struct DnsName {
  std::vector<std::string> labels;
  friend bool operator==(const DnsName& a, const DnsName& b) { return (a <=> b) == 0; }
  friend std::weak_ordering operator<=>(const DnsName& a, const DnsName& b);
};

/// "a.b.local" in labels. Requires labels that a name can hold.
DnsName dns_name(std::string_view dotted);

// The types of records, and of questions, that are read and written (IANA's numbers).
enum class DnsType : std::uint16_t {
  a = 1,
  ptr = 12,
  txt = 16,
  aaaa = 28,
  srv = 33,
  nsec = 47,
  any = 255,  ///< of questions only
};

struct DnsA {
  std::array<std::uint8_t, 4> address = {};
  friend auto operator<=>(const DnsA&, const DnsA&) = default;
};
struct DnsAaaa {
  std::array<std::uint8_t, 16> address = {};
  friend auto operator<=>(const DnsAaaa&, const DnsAaaa&) = default;
};
struct DnsPtr {
  DnsName target;
  friend bool operator==(const DnsPtr&, const DnsPtr&) = default;
};
struct DnsSrv {
  std::uint16_t priority = 0;
  std::uint16_t weight = 0;
  std::uint16_t port = 0;
  DnsName target;
  friend bool operator==(const DnsSrv&, const DnsSrv&) = default;
};
struct DnsTxt {
  std::vector<std::string> strings;  ///< of up to 255 bytes
  friend bool operator==(const DnsTxt&, const DnsTxt&) = default;
};
/// There are records of these types, below 256, at the name, and none of others (RFC 6762 section
/// 6.1).
struct DnsNsec {
  DnsName next;
  std::vector<std::uint16_t> types;  ///< rising
  friend bool operator==(const DnsNsec&, const DnsNsec&) = default;
};
using DnsData = std::variant<DnsA, DnsAaaa, DnsPtr, DnsSrv, DnsTxt, DnsNsec>;

DnsType type_of(const DnsData& data);
/// The bytes of the record's data, its names not compressed: what tie-breaks compare.
std::string dns_bytes(const DnsData& data);

/// Of class IN, or of any class in questions.
struct DnsQuestion {
  DnsName name;
  std::uint16_t type = 0;       ///< any number may be asked for
  bool unicast_answer = false;  ///< the QU bit (RFC 6762 section 5.4)
  friend bool operator==(const DnsQuestion&, const DnsQuestion&) = default;
};
struct DnsRecord {
  DnsName name;
  bool flush = false;  ///< the cache-flush bit (RFC 6762 section 10.2)
  std::uint32_t ttl_s = 0;
  DnsData data;
  friend bool operator==(const DnsRecord&, const DnsRecord&) = default;
};

/// A message of DNS (RFC 1035 section 4) as multicast DNS uses it. Of class IN only.
struct DnsMessage {
  std::uint16_t id = 0;
  bool response = false;
  bool authoritative = false;
  bool truncated = false;  ///< more known answers follow (RFC 6762 section 7.2)
  std::uint8_t opcode = 0;
  std::uint8_t rcode = 0;
  std::vector<DnsQuestion> questions;
  std::vector<DnsRecord> answers;
  std::vector<DnsRecord> authorities;
  std::vector<DnsRecord> additionals;
  friend bool operator==(const DnsMessage&, const DnsMessage&) = default;
};

/// Reads bytes that anyone may have sent. Records and questions of other types or classes are
/// passed over. Code::invalid, with the place, for what ends too early, a name that is too long or
/// whose pointer does not point back, data that does not fill its length, bytes after the end, over
/// 256 questions, and over 64 KiB of names; Code::too_large over `largest_dns_message`.
Result<DnsMessage> decode_dns(std::string_view bytes);

/// Names are compressed but in SRV and NSEC (RFC 6762 section 18.14 lets one). Requires names and
/// strings within their limits, and a message within 64 KiB.
std::string encode_dns(const DnsMessage& message);

}  // namespace gpl::net
