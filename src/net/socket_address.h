#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <string>

#include "gpl/core/result.h"
#include "gpl/net/address.h"

namespace gpl::net {

/// An address as the system's calls take it.
struct SocketAddress {
  sockaddr_storage storage = {};
  socklen_t size = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

/// Code::too_large for a path over `longest_unix_path`, Code::invalid for none.
Result<SocketAddress> unix_address(const std::string& path);
/// Requires a numeric host, and is Code::invalid for another. Asks no name server.
Result<SocketAddress> tcp_address(const PeerAddress& address);
/// The numeric address of a TCP socket; IPv4 as such also where it came through IPv6. Of a Unix
/// socket: none.
PeerAddress to_peer_address(const SocketAddress& address);

}  // namespace gpl::net
