#include "own_address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "gpl/peer/address_book.h"
#include "gpl/posix/fd.h"

namespace gpl::peer {
namespace {

std::string numeric(const sockaddr* address) {
  const socklen_t size = address->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  char host[NI_MAXHOST];
  if (::getnameinfo(address, size, host, sizeof host, nullptr, 0, NI_NUMERICHOST) != 0) return "";
  return host;
}

/// Where a datagram to there would come from: connecting a UDP socket only looks at the routes.
std::string source_towards(const sockaddr* there, socklen_t size) {
  const posix::Fd socket(::socket(there->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage own = {};
  socklen_t own_size = sizeof own;
  sockaddr* const own_address = reinterpret_cast<sockaddr*>(&own);
  if (!socket.valid() || ::connect(socket.get(), there, size) != 0 ||
      ::getsockname(socket.get(), own_address, &own_size) != 0)
    return "";
  const std::string host = numeric(own_address);
  return reach_of(host) == AddressReach::wide ? host : "";
}

// Of blocks for documentation (RFC 5737, RFC 3849): only the default route leads there.
std::string of_default_route() {
  sockaddr_in v4 = {};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(9);
  ::inet_pton(AF_INET, "203.0.113.1", &v4.sin_addr);
  std::string found = source_towards(reinterpret_cast<const sockaddr*>(&v4), sizeof v4);
  if (!found.empty()) return found;
  sockaddr_in6 v6 = {};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(9);
  ::inet_pton(AF_INET6, "2001:db8::1", &v6.sin6_addr);
  return source_towards(reinterpret_cast<const sockaddr*>(&v6), sizeof v6);
}

bool is_bridge(int socket, const char* interface) {
  ethtool_drvinfo driver = {};
  driver.cmd = ETHTOOL_GDRVINFO;
  ifreq request = {};
  std::strncpy(request.ifr_name, interface, IFNAMSIZ - 1);
  request.ifr_data = reinterpret_cast<char*>(&driver);
  return ::ioctl(socket, SIOCETHTOOL, &request) == 0 &&
         std::string(driver.driver, ::strnlen(driver.driver, sizeof driver.driver)) == "bridge";
}

/// The lower the better. A bridge is the last choice: docker0 has the same address everywhere.
int rank(int socket, const ifaddrs& entry, AddressReach reach) {
  int points = 0;
  if (is_bridge(socket, entry.ifa_name)) points += 8;
  if ((entry.ifa_flags & IFF_RUNNING) == 0) points += 4;
  if (reach != AddressReach::wide) points += 2;
  if (entry.ifa_addr->sa_family != AF_INET) points += 1;
  return points;
}

std::string of_interfaces() {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return "";
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(all, &::freeifaddrs);
  const posix::Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  std::string best;
  int best_rank = 0;
  for (const ifaddrs* entry = all; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_UP) == 0) continue;
    const int family = entry->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const std::string host = numeric(entry->ifa_addr);
    const AddressReach reach = reach_of(host);
    if (reach != AddressReach::wide && reach != AddressReach::link_local) continue;
    const int points = rank(socket.get(), *entry, reach);
    if (!best.empty() && points >= best_rank) continue;
    best = host;
    best_rank = points;
  }
  return best;
}

}  // namespace

std::string own_address() {
  const std::string found = of_default_route();
  return found.empty() ? of_interfaces() : found;
}

}  // namespace gpl::peer
