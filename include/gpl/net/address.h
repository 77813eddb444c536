#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gpl/core/result.h"

namespace gpl::net {

/// The TCP port of a peer that names none.
constexpr std::uint16_t default_port = 7457;

/// Where a peer listens, as a person writes it: HOST, HOST:PORT, [V6] or [V6]:PORT.
struct PeerAddress {
  std::string host;
  std::uint16_t port = default_port;
  friend bool operator==(const PeerAddress&, const PeerAddress&) = default;
};

/// Code::invalid for what is no such address, with the reason.
Result<PeerAddress> parse_peer_address(std::string_view text);

/// The same for where to listen: port 0 is any that is free.
Result<PeerAddress> parse_listen_address(std::string_view text);

/// A comma-separated list of at least one address.
Result<std::vector<PeerAddress>> parse_peer_addresses(std::string_view text);

/// "10.0.0.7:7457", "[fe80::1%eth0]:7457".
std::string to_text(const PeerAddress& address);

/// The numeric addresses of a host, in the order of getaddrinfo(3), each once. Blocks for as long
/// as the name servers take. Code::not_found with the resolver's reason.
Result<std::vector<std::string>> resolve(const std::string& host);

}  // namespace gpl::net
