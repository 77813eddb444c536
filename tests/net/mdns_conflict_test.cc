// What happens when two announce one instance (RFC 6762 sections 8.1, 8.2 and 9).
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "mdns_hall.h"

using namespace gpl;
using namespace gpl::net;
using hall::answer;
using hall::Hall;
using hall::only;
using hall::service;

namespace {

/// The addresses that a machine was last told for the instance.
std::vector<std::string> told(Hall& link, const std::string& name, const std::string& instance) {
  std::vector<std::string> addresses;
  for (const MdnsEvent& event : link.machine(name).events) {
    if (event.instance != instance) continue;
    addresses.clear();
    if (!event.found) continue;
    for (const PeerAddress& address : event.found->addresses) addresses.push_back(address.host);
  }
  return addresses;
}

using Addresses = std::vector<std::string>;

}  // namespace

TEST_CASE("a twin that comes later is silent, and is told of the one that was there") {
  Hall link;
  link.add("a", 1, service("a1"));
  link.pass(seconds(5));
  (void)link.take_sent();
  link.add("b", 2, service("a1"));
  link.pass(seconds(60));
  CHECK(told(link, "b", "a1") == Addresses{"10.0.0.1"});
  CHECK(only(link.take_sent(), "b", true).empty());
  CHECK(link.machine("a").link->announced());
  CHECK_FALSE(link.machine("b").link->announced());
}

TEST_CASE("the silent twin probes again, ever more rarely, and announces once the other is gone") {
  Hall link;
  link.add("a", 1, service("a1"));
  link.pass(seconds(5));
  link.add("b", 2, service("a1"));
  link.pass(seconds(600));
  std::size_t probes = 0;
  for (const auto& sent : only(link.take_sent(), "b", false))
    if (!sent.message.authorities.empty()) ++probes;
  CHECK(probes >= 8);
  CHECK(probes <= 16);
  link.end("a");
  link.pass(seconds(100));
  CHECK(link.machine("b").link->announced());
}

TEST_CASE("of two that probe at the same time exactly one announces, and the other learns of it") {
  for (std::uint8_t first = 1; first < 40; ++first) {
    Hall link;
    link.add("a", first, service("a1"));
    link.add("b", static_cast<std::uint8_t>(first + 50), service("a1"));
    link.pass(seconds(4));
    CAPTURE(int{first});
    CHECK(link.machine("b").link->announced());  // its address is the later one
    CHECK_FALSE(link.machine("a").link->announced());
    CHECK(told(link, "a", "a1") == Addresses{"10.0.0." + std::to_string(first + 50)});
  }
}

TEST_CASE("two that had announced on links that are joined then settle it, and the loser is told") {
  Hall link;
  link.add("a", 1, service("a1"));
  link.add("b", 2, service("a1"));
  link.machine("a").deaf = link.machine("b").deaf = true;
  link.pass(seconds(5));
  CHECK(link.machine("a").link->announced());
  CHECK(link.machine("b").link->announced());
  link.machine("a").deaf = link.machine("b").deaf = false;
  link.machine("a").link->look(link.now);
  link.machine("b").link->resume(link.now);
  link.pass(seconds(20));
  CHECK(link.machine("b").link->announced());
  CHECK_FALSE(link.machine("a").link->announced());
  CHECK(told(link, "a", "a1") == Addresses{"10.0.0.2"});
}

TEST_CASE("what this machine says through another interface is no conflict") {
  Hall link;
  MdnsLink& a = link.add("a", 1, service("a1"));
  a.set_addresses({hall::v4(1)}, {hall::v4(1), hall::v4(2)}, link.now);
  link.pass(seconds(5));
  // The same records with the other interface's address: from this machine, and by a reflector.
  const DnsMessage other = answer(records_of(service("a1"), {hall::v4(2)}));
  a.receive(encode_dns(other), {hall::v4(2), 5353, true}, link.now);
  a.receive(encode_dns(other), {hall::v4(7), 5353, false}, link.now);
  CHECK(a.announced());
  link.pass(seconds(5));
  CHECK(a.announced());
  CHECK(link.take_events("a").empty());
}

TEST_CASE("an old port of this machine's own, heard again, is neither conflict nor twin") {
  Hall link;
  MdnsLink& a = link.add("a", 1, service("a1"));
  link.pass(seconds(5));
  a.receive(encode_dns(answer(records_of(service("a1", 9), {hall::v4(1)}))),
            {hall::v4(1), 5353, true}, link.now);
  link.pass(seconds(5));
  CHECK(a.announced());
  CHECK(link.take_events("a").empty());
}

TEST_CASE("a twin's goodbye is no conflict") {
  Hall link;
  MdnsLink& a = link.add("a", 1, service("a1"));
  link.pass(seconds(5));
  auto records = records_of(service("a1", 9), {hall::v4(2)});
  for (DnsRecord& record : records) record.ttl_s = 0;
  link.inject(answer(records), 2);
  CHECK(a.announced());
}
