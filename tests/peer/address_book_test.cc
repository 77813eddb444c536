#include "gpl/peer/address_book.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

#include "temporary_folder.h"

using namespace gpl;
using net::PeerAddress;
using peer::AddressBook;
using peer::AddressReach;
using peer::reach_of;
using Texts = std::vector<std::string>;

namespace {

const PeerId one{1};
const PeerId two{2};
const PeerAddress lan{"10.0.0.7", 7457};
const PeerAddress far_away{"192.0.2.9", 7457};
const PeerAddress here{"127.0.0.1", 7458};
const PeerAddress on_eth0{"fe80::7%eth0", 7457};
const PeerAddress on_eth1{"fe80::8%eth1", 7457};

Texts told_to(const AddressBook& book, PeerId peer, const PeerAddress& to) {
  const auto known = book.telling(peer, to);
  return known ? known->addresses : Texts();
}

}  // namespace

TEST_CASE("addresses reach as far as they reach") {
  CHECK(reach_of("127.0.0.1") == AddressReach::loopback);
  CHECK(reach_of("127.9.9.9") == AddressReach::loopback);
  CHECK(reach_of("::1") == AddressReach::loopback);
  CHECK(reach_of("fe80::1%eth0") == AddressReach::link_local);
  CHECK(reach_of("fe80::1") == AddressReach::link_local);
  CHECK(reach_of("10.0.0.7") == AddressReach::wide);
  CHECK(reach_of("169.254.1.1") == AddressReach::wide);
  CHECK(reach_of("fd00::2") == AddressReach::wide);
  for (const char* none : {"", "lab1", "0.0.0.0", "0.1.2.3", "::", "224.0.0.251", "ff02::fb",
                           "255.255.255.255", "::ffff:10.0.0.7", "10.0.0", "10.0.0.7 "})
    CHECK_MESSAGE(reach_of(none) == AddressReach::nowhere, none);
}

TEST_CASE("what worked last comes first, what others tell comes last") {
  AddressBook book("");
  CHECK(book.told({one, "lab1", {"10.0.0.1:1"}}, lan));
  CHECK(book.seen(one, "", {"10.0.0.2", 2}));
  book.worked(one, "", {"10.0.0.3", 3});
  CHECK(book.seen(one, "", {"10.0.0.4", 4}));
  CHECK(
      book.addresses(one) ==
      std::vector<PeerAddress>{{"10.0.0.3", 3}, {"10.0.0.2", 2}, {"10.0.0.4", 4}, {"10.0.0.1", 1}});
  book.worked(one, "", {"10.0.0.4", 4});
  CHECK(book.addresses(one).front() == PeerAddress{"10.0.0.4", 4});
  CHECK(book.addresses(one).size() == 4);
}

TEST_CASE("what is known already is no news") {
  AddressBook book("");
  CHECK(book.seen(one, "", lan));
  CHECK_FALSE(book.seen(one, "", lan));
  CHECK_FALSE(book.told({one, "", {"10.0.0.7:7457"}}, lan));
  CHECK(book.addresses(one).size() == 1);
}

TEST_CASE("hearsay that proves true is found, and told on from then") {
  AddressBook book("");
  REQUIRE(book.told({one, "lab1", {"10.0.0.7"}}, far_away));
  CHECK(told_to(book, one, far_away).empty());
  book.worked(one, "lab1", lan);
  CHECK(told_to(book, one, far_away) == Texts{"10.0.0.7:7457"});
  CHECK(book.telling(one, far_away)->name == "lab1");
  CHECK(book.addresses(one) == std::vector{lan});
}

TEST_CASE("loopback addresses are told on this machine only, and taken from it only") {
  AddressBook book("");
  book.worked(one, "", here);
  CHECK(told_to(book, one, here) == Texts{"127.0.0.1:7458"});
  CHECK(told_to(book, one, {"::1", 9}) == Texts{"127.0.0.1:7458"});
  CHECK_FALSE(book.telling(one, lan).has_value());
  book.seen(one, "", lan);
  CHECK(told_to(book, one, far_away) == Texts{"10.0.0.7:7457"});
  CHECK_FALSE(book.told({two, "", {"127.0.0.1:1", "[::1]:1"}}, lan));
  CHECK(book.addresses(two).empty());
  CHECK(book.told({two, "", {"127.0.0.1:1"}}, here));
}

TEST_CASE(
    "link-local addresses are told on their link only, without its scope, and as the last way") {
  AddressBook book("");
  book.worked(one, "", on_eth0);
  CHECK(told_to(book, one, {"fe80::9%eth0", 1}) == Texts{"[fe80::7]:7457"});
  CHECK_FALSE(book.telling(one, on_eth1).has_value());
  CHECK_FALSE(book.telling(one, lan).has_value());
  CHECK_FALSE(book.telling(one, here).has_value());
  book.seen(one, "", lan);
  CHECK(told_to(book, one, {"fe80::9%eth0", 1}) == Texts{"10.0.0.7:7457"});
}

TEST_CASE("a link-local address that is told gets the scope of the link that it came on") {
  AddressBook book("");
  CHECK_FALSE(book.told({one, "", {"[fe80::7]:7457"}}, lan));
  CHECK_FALSE(book.told({one, "", {"[fe80::7%eth1]:7457"}}, on_eth0));
  CHECK(book.told({one, "", {"[fe80::7]:7457"}}, on_eth0));
  CHECK(book.addresses(one) == std::vector{on_eth0});
}

TEST_CASE("what is no address of a machine is not taken") {
  AddressBook book("");
  CHECK_FALSE(
      book.told({one, "", {"lab1:7457", "0.0.0.0:1", "[ff02::1]:1", ":", "", "10.0.0.7:0"}}, lan));
  CHECK(book.peers().empty());
  CHECK_FALSE(book.told({PeerId{0}, "", {"10.0.0.7"}}, lan));
  CHECK(book.peers().empty());
}

TEST_CASE("an address where somebody else answers is dropped") {
  AddressBook book("");
  book.worked(one, "", lan);
  book.seen(one, "", far_away);
  book.wrong(one, lan);
  book.wrong(two, lan);
  CHECK(book.addresses(one) == std::vector{far_away});
  book.wrong(one, far_away);
  CHECK(book.peers().empty());
}

TEST_CASE("who is forgotten stays so, whatever is told, until it is here itself") {
  AddressBook book("");
  book.worked(one, "", lan);
  book.forget(one);
  CHECK(book.peers().empty());
  CHECK_FALSE(book.told({one, "", {"10.0.0.7"}}, far_away));
  CHECK_FALSE(book.seen(one, "", lan));
  CHECK(book.peers().empty());
  book.worked(one, "", lan);
  CHECK(book.addresses(one) == std::vector{lan});
  book.forget(two);
  book.remember(two);
  CHECK(book.seen(two, "", lan));
}

TEST_CASE("a peer has a bounded number of addresses, and the one that works is kept") {
  AddressBook book("");
  book.worked(one, "", lan);
  for (std::uint16_t port = 1; port <= 100; ++port) {
    book.seen(one, "", {"10.1.0.1", port});
    book.told({one, "", {"10.2.0.1:" + std::to_string(port)}}, far_away);
  }
  CHECK(book.addresses(one).size() == AddressBook::most_addresses);
  CHECK(book.addresses(one).front() == lan);
  CHECK(book.addresses(one).back() == PeerAddress{"10.1.0.1", 100});
}

TEST_CASE("of what one message tells of a peer a bounded part is taken") {
  AddressBook book("");
  wire::KnownPeer known{one, std::string(100000, 'n'), {}};
  for (int port = 1; port <= 1000; ++port)
    known.addresses.push_back("10.2.0.1:" + std::to_string(port));
  book.told(known, lan);
  CHECK(book.addresses(one).size() == AddressBook::most_addresses);
  book.worked(one, "", lan);
  CHECK(book.telling(one, far_away)->name.size() <= 255);
}

TEST_CASE("a full book takes who is found for who is hearsay, and no more hearsay") {
  AddressBook book("");
  for (std::uint64_t id = 1; id <= AddressBook::most_peers; ++id)
    CHECK(book.told({PeerId{id}, "", {"10.0.0.1:1"}}, lan));
  CHECK_FALSE(book.told({PeerId{5000}, "", {"10.0.0.1:1"}}, lan));
  CHECK(book.seen(PeerId{6000}, "", lan));
  CHECK(book.peers().size() == AddressBook::most_peers);
  CHECK(book.addresses(PeerId{6000}) == std::vector{lan});
}

TEST_CASE("what was found is there again after a restart, the best first, and hearsay is not") {
  const TemporaryFolder folder;
  folder.write("peer/identity", "");
  AddressBook book(folder.path());
  book.seen(one, "lab1", lan);
  book.worked(one, "lab1", on_eth0);
  book.worked(two, "", {"fd00::2", 9});
  book.told({PeerId{3}, "", {"10.0.0.3"}}, lan);
  book.told({one, "", {"10.0.0.4"}}, lan);
  CHECK(book.is_changed());
  REQUIRE(book.save().ok());
  CHECK_FALSE(book.is_changed());
  AddressBook again(folder.path());
  REQUIRE(again.load().ok());
  CHECK_FALSE(again.is_changed());
  CHECK(again.peers() == std::vector{one, two});
  CHECK(again.addresses(one) == std::vector{on_eth0, lan});
  CHECK(again.addresses(two) == std::vector{PeerAddress{"fd00::2", 9}});
  CHECK(again.telling(one, far_away)->name == "lab1");
}

TEST_CASE("without a file there is nothing to remember, and nothing wrong") {
  const TemporaryFolder folder;
  AddressBook book(folder.path());
  CHECK(book.load().ok());
  CHECK(book.peers().empty());
}

TEST_CASE("a damaged file is said, and the book begins anew") {
  const TemporaryFolder folder;
  for (const std::string& bytes : {std::string("\xff\xfe"), std::string("form=2\0", 7),
                                   std::string(), std::string(3 << 20, 'x')}) {
    folder.write("peer/peers", bytes);
    AddressBook book(folder.path());
    CHECK_FALSE(book.load().ok());
    CHECK(book.peers().empty());
    book.worked(one, "", lan);
    CHECK(book.save().ok());
    CHECK(AddressBook(folder.path()).load().ok());
  }
}

TEST_CASE("a file of anything is read without harm") {
  const TemporaryFolder folder;
  const std::vector<std::string> parts = {"peer=1",
                                          "peer=-1",
                                          "peer=x",
                                          "peer=",
                                          "name=n",
                                          "address=",
                                          "address=lab1:1",
                                          "address=10.0.0.1:1",
                                          "address=[fe80::1%eth0]:1",
                                          "other=1"};
  CHECK(rc::check([&](const std::vector<std::uint8_t>& choices) {
    std::string bytes("form=1\0", 7);
    for (const std::uint8_t choice : choices)
      bytes += parts[choice % parts.size()] + std::string(1, '\0');
    folder.write("peer/peers", bytes);
    AddressBook book(folder.path());
    RC_ASSERT(book.load().ok());
    for (const PeerId peer : book.peers()) {
      RC_ASSERT(peer == one);
      RC_ASSERT(!book.addresses(peer).empty());
    }
  }));
}
