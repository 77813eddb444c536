#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gpl/core/result.h"

namespace gpl::net {

/// Of IPv4 the first four bytes are used, the others are 0.
struct IpAddress {
  bool v6 = false;
  std::array<std::uint8_t, 16> bytes = {};
  friend auto operator<=>(const IpAddress&, const IpAddress&) = default;
};

/// fe80::/10, 169.254.0.0/16: means something only together with an interface.
bool link_local(const IpAddress& address);
/// One that a host can have and others can reach: neither loopback, multicast, broadcast, unset,
/// nor IPv4 in the clothes of IPv6.
bool unicast(const IpAddress& address);
/// "10.0.0.7"; link-local IPv6 with the interface: "fe80::1%eth0".
std::string to_text(const IpAddress& address, const std::string& interface);

struct InterfaceAddress {
  IpAddress address;
  unsigned prefix_bits = 0;
  friend bool operator==(const InterfaceAddress&, const InterfaceAddress&) = default;
};

/// An interface that carries multicast now: it is up, has a carrier, is no loopback or
/// point-to-point one, and has an address.
struct Interface {
  unsigned index = 0;
  std::string name;
  std::vector<InterfaceAddress> addresses;  ///< those that can be used now: not tentative ones
  friend bool operator==(const Interface&, const Interface&) = default;
};

/// Whether the address is of a network that the interface is in: its link, as far as one can tell.
bool on_link(const Interface& interface, const IpAddress& address);

struct Interfaces {
  std::vector<Interface> usable;  ///< by index
  std::set<IpAddress> own;        ///< every address of this machine, whatever its interface
  friend bool operator==(const Interfaces&, const Interfaces&) = default;
};

/// From a kernel's answers to RTM_GETLINK and RTM_GETADDR (rtnetlink(7)), one after the other.
/// What is not understood is passed over.
Interfaces read_interfaces(std::string_view answers);

/// Asks the kernel, which answers at once. Code::io.
Result<Interfaces> list_interfaces();

}  // namespace gpl::net
