#include "socket_address.h"

#include <netdb.h>
#include <netinet/in.h>

#include <cstring>

#include "gpl/net/listener.h"

namespace gpl::net {

static_assert(longest_unix_path == sizeof(sockaddr_un::sun_path) - 1);

Result<SocketAddress> unix_address(const std::string& path) {
  if (path.empty()) return Error{Code::invalid, "a socket needs a path"};
  if (path.size() > longest_unix_path) {
    return Error{Code::too_large, "the path '" + path + "' has " + std::to_string(path.size()) +
                                      " bytes, and a socket's at most " +
                                      std::to_string(longest_unix_path)};
  }
  sockaddr_un name = {};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, path.data(), path.size());
  SocketAddress address;
  std::memcpy(&address.storage, &name, sizeof name);
  address.size = sizeof name;
  return address;
}

Result<SocketAddress> tcp_address(const PeerAddress& peer) {
  addrinfo wanted = {};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(peer.port);
  if (::getaddrinfo(peer.host.c_str(), port.c_str(), &wanted, &found) != 0) {
    return Error{Code::invalid, "'" + peer.host + "' is not a numeric address"};
  }
  SocketAddress address;
  address.size = found->ai_addrlen;
  std::memcpy(&address.storage, found->ai_addr, found->ai_addrlen);
  ::freeaddrinfo(found);
  return address;
}

PeerAddress to_peer_address(const SocketAddress& address) {
  if (address.storage.ss_family == AF_UNIX) return {"", 0};
  SocketAddress plain = address;
  sockaddr_in6 v6;
  std::memcpy(&v6, &address.storage, sizeof v6);
  if (v6.sin6_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
    sockaddr_in v4 = {};
    v4.sin_family = AF_INET;
    v4.sin_port = v6.sin6_port;
    std::memcpy(&v4.sin_addr, &v6.sin6_addr.s6_addr[12], sizeof v4.sin_addr);
    plain = SocketAddress();
    std::memcpy(&plain.storage, &v4, sizeof v4);
    plain.size = sizeof v4;
  }
  char host[NI_MAXHOST] = "";
  char port[NI_MAXSERV] = "0";
  if (::getnameinfo(plain.get(), plain.size, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return PeerAddress{"", 0};
  }
  return PeerAddress{host, static_cast<std::uint16_t>(std::stoul(port))};
}

}  // namespace gpl::net
