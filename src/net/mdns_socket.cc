#include "mdns_socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "gpl/posix/error.h"
#include "socket_address.h"

#ifndef IPV6_MULTICAST_ALL
#define IPV6_MULTICAST_ALL 29  // Linux 4.20
#endif

namespace gpl::net {
namespace {

constexpr std::uint16_t mdns_port = 5353;
constexpr std::array<std::uint8_t, 4> group_v4 = {224, 0, 0, 251};
constexpr std::array<std::uint8_t, 16> group_v6 = {0xff, 0x02, 0, 0, 0, 0, 0, 0,
                                                   0,    0,    0, 0, 0, 0, 0, 0xfb};
// Then the loop looks after the others too: anyone may send what takes long to read.
constexpr int packets_per_turn = 8;

SocketAddress socket_address(const IpAddress& ip, std::uint16_t port, unsigned interface) {
  SocketAddress address;
  if (ip.v6) {
    sockaddr_in6 name = {};
    name.sin6_family = AF_INET6;
    name.sin6_port = htons(port);
    name.sin6_scope_id = interface;
    std::memcpy(&name.sin6_addr, ip.bytes.data(), sizeof name.sin6_addr);
    std::memcpy(&address.storage, &name, sizeof name);
    address.size = sizeof name;
  } else {
    sockaddr_in name = {};
    name.sin_family = AF_INET;
    name.sin_port = htons(port);
    std::memcpy(&name.sin_addr, ip.bytes.data(), sizeof name.sin_addr);
    std::memcpy(&address.storage, &name, sizeof name);
    address.size = sizeof name;
  }
  return address;
}

IpAddress group(bool v6) {
  IpAddress address;
  address.v6 = v6;
  if (v6) {
    address.bytes = group_v6;
  } else {
    std::memcpy(address.bytes.data(), group_v4.data(), group_v4.size());
  }
  return address;
}

std::optional<MdnsSource> source_of(const SocketAddress& from) {
  MdnsSource source;
  if (from.storage.ss_family == AF_INET6) {
    sockaddr_in6 name;
    std::memcpy(&name, &from.storage, sizeof name);
    source.address.v6 = true;
    std::memcpy(source.address.bytes.data(), &name.sin6_addr, sizeof name.sin6_addr);
    source.port = ntohs(name.sin6_port);
  } else if (from.storage.ss_family == AF_INET) {
    sockaddr_in name;
    std::memcpy(&name, &from.storage, sizeof name);
    std::memcpy(source.address.bytes.data(), &name.sin_addr, sizeof name.sin_addr);
    source.port = ntohs(name.sin_port);
  } else {
    return std::nullopt;
  }
  return source;
}

template <class Value>
bool set(int socket, int level, int option, const Value& value) {
  return ::setsockopt(socket, level, option, &value, sizeof value) == 0;
}

bool set_up_v4(int socket, unsigned interface) {
  ip_mreqn membership = {};
  std::memcpy(&membership.imr_multiaddr, group_v4.data(), group_v4.size());
  membership.imr_ifindex = static_cast<int>(interface);
  // RFC 6762 section 11: also answers to one go out with 255.
  return set(socket, IPPROTO_IP, IP_MULTICAST_ALL, 0) &&
         set(socket, IPPROTO_IP, IP_MULTICAST_TTL, 255) && set(socket, IPPROTO_IP, IP_TTL, 255) &&
         set(socket, IPPROTO_IP, IP_MULTICAST_LOOP, 1) &&
         set(socket, IPPROTO_IP, IP_MULTICAST_IF, membership) &&
         set(socket, IPPROTO_IP, IP_ADD_MEMBERSHIP, membership);
}

bool set_up_v6(int socket, unsigned interface) {
  ipv6_mreq membership = {};
  std::memcpy(&membership.ipv6mr_multiaddr, group_v6.data(), group_v6.size());
  membership.ipv6mr_interface = interface;
  (void)set(socket, IPPROTO_IPV6, IPV6_MULTICAST_ALL, 0);  // old kernels have no such thing
  return set(socket, IPPROTO_IPV6, IPV6_V6ONLY, 1) &&
         set(socket, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, 255) &&
         set(socket, IPPROTO_IPV6, IPV6_UNICAST_HOPS, 255) &&
         set(socket, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 1) &&
         set(socket, IPPROTO_IPV6, IPV6_MULTICAST_IF, static_cast<int>(interface)) &&
         set(socket, IPPROTO_IPV6, IPV6_JOIN_GROUP, membership);
}

}  // namespace

Result<std::unique_ptr<MdnsSocket>> MdnsSocket::open(Loop& loop, unsigned interface, bool v6,
                                                     Received received) {
  const int family = v6 ? AF_INET6 : AF_INET;
  posix::Fd socket(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const SocketAddress name = socket_address(group(v6), mdns_port, interface);
  if (!socket.valid() || !set(socket.get(), SOL_SOCKET, SO_REUSEADDR, 1) ||
      !set(socket.get(), SOL_SOCKET, SO_REUSEPORT, 1) ||
      !(v6 ? set_up_v6(socket.get(), interface) : set_up_v4(socket.get(), interface)) ||
      ::bind(socket.get(), name.get(), name.size) != 0) {
    return posix::io_error(v6 ? "multicast over IPv6" : "multicast over IPv4");
  }
  std::unique_ptr<MdnsSocket> made(
      new MdnsSocket(loop, std::move(socket), interface, v6, std::move(received)));
  auto watch = loop.watch(made->socket_.get(), [raw = made.get()] { raw->receive(); });
  if (!watch.ok()) return watch.error();
  made->watch_ = std::move(watch).value();
  return made;
}

MdnsSocket::MdnsSocket(Loop& loop, posix::Fd socket, unsigned interface, bool v6, Received received)
    : loop_(loop),
      socket_(std::move(socket)),
      interface_(interface),
      v6_(v6),
      received_(std::move(received)) {}

Status MdnsSocket::send(const std::string& bytes) {
  const SocketAddress to = socket_address(group(v6_), mdns_port, interface_);
  if (::sendto(socket_.get(), bytes.data(), bytes.size(), 0, to.get(), to.size) < 0)
    return posix::io_error("cannot send to the multicast group");
  echo_.sent(bytes, loop_.now());
  return success();
}

Status MdnsSocket::send_to(const std::string& bytes, const MdnsSource& to) {
  const SocketAddress name = socket_address(to.address, to.port, interface_);
  if (::sendto(socket_.get(), bytes.data(), bytes.size(), 0, name.get(), name.size) < 0)
    return posix::io_error("cannot answer a query");
  return success();
}

bool MdnsSocket::is_echo(std::string_view bytes) { return echo_.take(bytes, loop_.now()); }

void MdnsSocket::receive() {
  // All that is ready is taken before any is handed on: what it is handed to may drop this socket.
  std::vector<std::pair<std::string, MdnsSource>> packets;
  std::array<char, largest_dns_message + 1> buffer;
  for (int i = 0; i < packets_per_turn; ++i) {
    SocketAddress from;
    from.size = sizeof from.storage;
    const ssize_t got =
        ::recvfrom(socket_.get(), buffer.data(), buffer.size(), 0, from.get(), &from.size);
    if (got < 0 && errno == EAGAIN) break;
    if (got < 0) continue;  // an error of what was sent before
    const auto size = static_cast<std::size_t>(got);
    const auto source = source_of(from);
    if (size <= largest_dns_message && source)
      packets.emplace_back(std::string(buffer.data(), size), *source);
  }
  const Received received = received_;
  for (const auto& [bytes, from] : packets) received(bytes, from);
}

}  // namespace gpl::net
