#include "../../src/net/interface.h"

#include <doctest/doctest.h>
#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <cstring>
#include <string>
#include <string_view>

using namespace gpl;
using namespace gpl::net;
using namespace std::string_literals;

namespace {

template <class Struct>
std::string bytes_of(const Struct& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string aligned(std::string bytes) {
  bytes.resize((bytes.size() + 3) / 4 * 4);
  return bytes;
}

std::string attribute(unsigned short type, const std::string& data) {
  rtattr head = {};
  head.rta_len = static_cast<unsigned short>(sizeof head + data.size());
  head.rta_type = type;
  return aligned(bytes_of(head) + data);
}

std::string message(unsigned short type, const std::string& body) {
  nlmsghdr head = {};
  head.nlmsg_len = static_cast<unsigned>(sizeof head + body.size());
  head.nlmsg_type = type;
  return aligned(bytes_of(head) + body);
}

constexpr unsigned good = IFF_UP | IFF_RUNNING | IFF_MULTICAST | IFF_BROADCAST;

std::string link(int index, const std::string& name, unsigned flags = good) {
  ifinfomsg head = {};
  head.ifi_index = index;
  head.ifi_flags = flags;
  return message(RTM_NEWLINK, bytes_of(head) + attribute(IFLA_IFNAME, name + "\0"s));
}

std::string address(unsigned index, unsigned char family, const std::string& ip,
                    unsigned prefix_bits, std::uint32_t flags = 0) {
  ifaddrmsg head = {};
  head.ifa_family = family;
  head.ifa_prefixlen = static_cast<unsigned char>(prefix_bits);
  head.ifa_index = index;
  return message(RTM_NEWADDR, bytes_of(head) + attribute(IFA_ADDRESS, ip) +
                                  attribute(IFA_FLAGS, bytes_of(flags)));
}

const std::string v4 = "\x0a\x00\x00\x07"s;
const std::string v6 = "\xfe\x80"s + std::string(13, '\0') + "\x01"s;

IpAddress ip(bool six, const std::string& bytes) {
  IpAddress made{six, {}};
  std::memcpy(made.bytes.data(), bytes.data(), bytes.size());
  return made;
}

}  // namespace

TEST_CASE("interfaces are read with the addresses that they have") {
  const Interfaces all =
      read_interfaces(link(3, "eth1") + link(2, "eth0") + address(2, AF_INET, v4, 24) +
                      address(2, AF_INET6, v6, 64) + address(3, AF_INET, "\x0a\x01\x00\x07"s, 16));
  REQUIRE(all.usable.size() == 2);
  CHECK(all.usable[0] == Interface{2, "eth0", {{ip(false, v4), 24}, {ip(true, v6), 64}}});
  CHECK(all.usable[1].name == "eth1");
  CHECK(all.own.size() == 3);
}

TEST_CASE("those without carrier, multicast or address, loopback and point-to-point ones are out") {
  const std::string addresses = address(1, AF_INET, v4, 24) + address(2, AF_INET6, v6, 64);
  CHECK(read_interfaces(link(1, "x", good & ~unsigned{IFF_RUNNING}) + addresses).usable.empty());
  CHECK(read_interfaces(link(1, "x", good & ~unsigned{IFF_UP}) + addresses).usable.empty());
  CHECK(read_interfaces(link(1, "x", good & ~unsigned{IFF_MULTICAST}) + addresses).usable.empty());
  CHECK(read_interfaces(link(1, "x", good | IFF_LOOPBACK) + addresses).usable.empty());
  CHECK(read_interfaces(link(1, "x", good | IFF_POINTOPOINT) + addresses).usable.empty());
  CHECK(read_interfaces(link(7, "x") + addresses).usable.empty());
  CHECK(read_interfaces(link(7, "x") + addresses).own.size() == 2);
}

TEST_CASE("addresses that cannot be used yet, or should not any more, are out") {
  for (const std::uint32_t flag :
       {unsigned{IFA_F_TENTATIVE}, unsigned{IFA_F_DADFAILED}, unsigned{IFA_F_DEPRECATED}})
    CHECK(read_interfaces(link(1, "x") + address(1, AF_INET6, v6, 64, flag)).usable.empty());
  CHECK(read_interfaces(link(1, "x") + address(1, AF_INET, "\x7f\0\x01\x01"s, 8)).usable.empty());
}

TEST_CASE("any part of the kernel's answers is read without going past its end") {
  const std::string all = link(2, "eth0") + address(2, AF_INET, v4, 24);
  for (std::size_t size = 0; size < all.size(); ++size) {
    const std::string part = all.substr(0, size);
    CHECK(read_interfaces(part).usable.empty());
  }
  for (std::size_t at = 0; at < all.size(); ++at) {
    std::string changed = all;
    changed[at] = '\xff';
    (void)read_interfaces(changed);
  }
}

TEST_CASE("an address is on the link if a network of the interface has it, or any link") {
  const Interface eth0{2, "eth0", {{ip(false, v4), 22}, {ip(true, "\xfd\x77"s), 64}}};
  CHECK(on_link(eth0, ip(false, "\x0a\x00\x03\xff"s)));
  CHECK_FALSE(on_link(eth0, ip(false, "\x0a\x00\x04\x01"s)));
  CHECK(on_link(eth0, ip(false, "\xa9\xfe\x09\x09"s)));
  CHECK(on_link(eth0, ip(true, v6)));
  CHECK(on_link(eth0, ip(true, "\xfd\x77\0\0\0\0\0\0\x09"s)));
  CHECK_FALSE(on_link(eth0, ip(true, "\xfd\x78"s)));
}

TEST_CASE("an address is written as it is dialled, with the interface where it needs that") {
  CHECK(to_text(ip(false, v4), "eth0") == "10.0.0.7");
  CHECK(to_text(ip(true, v6), "eth0") == "fe80::1%eth0");
  CHECK(to_text(ip(true, "\xfd\x77"s), "eth0") == "fd77::");
}

TEST_CASE("the machine's own list has no loopback interface, but its addresses") {
  const auto all = list_interfaces();
  REQUIRE(all.ok());
  for (const Interface& each : all.value().usable) {
    CHECK(each.name != "lo");
    CHECK_FALSE(each.addresses.empty());
    for (const InterfaceAddress& own : each.addresses) CHECK(all.value().own.count(own.address));
  }
}
