#include "gpl/net/address.h"

#include <doctest/doctest.h>

using namespace gpl;
using net::parse_peer_address;
using net::PeerAddress;

TEST_CASE("a host without a port gets the default one") {
  CHECK(parse_peer_address("lab2").value() == PeerAddress{"lab2", 7457});
  CHECK(parse_peer_address("10.9.0.2").value() == PeerAddress{"10.9.0.2", 7457});
}

TEST_CASE("a port follows a colon, and IPv6 addresses need brackets for one") {
  CHECK(parse_peer_address("lab2:1").value() == PeerAddress{"lab2", 1});
  CHECK(parse_peer_address("[fe80::1%eth0]:65535").value() == PeerAddress{"fe80::1%eth0", 65535});
  CHECK(parse_peer_address("[::1]").value() == PeerAddress{"::1", 7457});
  CHECK(parse_peer_address("fe80::1").value() == PeerAddress{"fe80::1", 7457});
}

TEST_CASE("what is no address is refused with its text") {
  for (const char* text : {"", ":1", "lab2:", "lab2:0", "lab2:65536", "lab2:x", "[::1", "[]",
                           "[::1]x", "[::1]:", "lab2:+1"}) {
    CAPTURE(text);
    const Result<PeerAddress> address = parse_peer_address(text);
    REQUIRE_FALSE(address.ok());
    CHECK(address.error().code == Code::invalid);
    CHECK(address.error().message.find(text) != std::string::npos);
  }
}

TEST_CASE("where to listen any free port may be meant, and where to dial none") {
  CHECK(net::parse_listen_address("0.0.0.0:0").value() == PeerAddress{"0.0.0.0", 0});
  CHECK(net::parse_listen_address("[::]:0").value() == PeerAddress{"::", 0});
  CHECK(net::parse_listen_address("10.9.0.2").value() == PeerAddress{"10.9.0.2", 7457});
  CHECK(net::parse_listen_address("lab2:8000").value() == PeerAddress{"lab2", 8000});
  for (const char* text : {"", ":0", "lab2:-1", "lab2:65536", "lab2:"}) {
    CAPTURE(text);
    const Result<PeerAddress> address = net::parse_listen_address(text);
    REQUIRE_FALSE(address.ok());
    CHECK(address.error().message.find(text) != std::string::npos);
  }
  CHECK(net::parse_listen_address("lab2:x").error().message.find("from 0 to 65535") !=
        std::string::npos);
  CHECK(parse_peer_address("lab2:0").error().message.find("from 1 to 65535") != std::string::npos);
}

TEST_CASE("a list is separated by commas, and each part must be an address") {
  const auto addresses = net::parse_peer_addresses("lab1,lab2:99");
  REQUIRE(addresses.ok());
  CHECK(addresses.value() == std::vector<PeerAddress>{{"lab1", 7457}, {"lab2", 99}});
  CHECK_FALSE(net::parse_peer_addresses("lab1,").ok());
  CHECK_FALSE(net::parse_peer_addresses("").ok());
}

TEST_CASE("a numeric address resolves to itself without a name server") {
  CHECK(net::resolve("127.0.0.1").value() == std::vector<std::string>{"127.0.0.1"});
  CHECK(net::resolve("::1").value() == std::vector<std::string>{"::1"});
}

TEST_CASE("a name that cannot be is an error that says it") {
  const auto numeric = net::resolve("no such host");
  REQUIRE_FALSE(numeric.ok());
  CHECK(numeric.error().code == Code::not_found);
  CHECK(numeric.error().message.find("'no such host'") != std::string::npos);
}
