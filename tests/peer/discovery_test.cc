#include "gpl/peer/discovery.h"

#include <doctest/doctest.h>

#include <string>

using namespace gpl;
using peer::announced;
using peer::announced_peer;
using peer::Sightings;

namespace {

const PeerId one{0x1122334455667788};
const PeerId two{2};
const std::string key = "00112233aabbccdd";

Moment at(std::int64_t second) { return Moment{second * 1000}; }

}  // namespace

TEST_CASE("an announcement names the peer, its cluster and version, and is read back") {
  const net::MdnsService service = announced(one, key, "0.1.0", 7457);
  CHECK(service.instance == "1122334455667788");
  CHECK(service.port == 7457);
  CHECK(service.text.at("id") == "1122334455667788");
  CHECK(service.text.at("key") == key);
  CHECK(service.text.at("version") == "0.1.0");
  CHECK(announced_peer(service, key) == one);
}

TEST_CASE("an announcement of another cluster, or that makes no sense, is of no peer") {
  const net::MdnsService good = announced(one, key, "0.1.0", 7457);
  CHECK_FALSE(announced_peer(good, "00112233aabbccde").has_value());
  for (const char* missing : {"id", "key"}) {
    net::MdnsService service = good;
    service.text.erase(missing);
    CHECK_FALSE(announced_peer(service, key).has_value());
  }
  for (const char* id : {"", "0000000000000000", "112233445566778", "11223344556677889",
                         "112233445566778g", "1122334455667789"}) {
    net::MdnsService service = good;
    service.text["id"] = id;
    CHECK_FALSE(announced_peer(service, key).has_value());
  }
}

TEST_CASE("multicast seems blocked when those who are linked are not seen for half a minute") {
  Sightings sightings;
  CHECK_FALSE(sightings.check(at(0), {one}));
  CHECK_FALSE(sightings.check(at(29), {one}));
  CHECK_FALSE(sightings.is_blocked());
  CHECK(sightings.check(at(30), {one}));
  CHECK(sightings.is_blocked());
  CHECK_FALSE(sightings.check(at(31), {one}));
}

TEST_CASE("one that is seen is enough") {
  Sightings sightings;
  sightings.found(two);
  CHECK_FALSE(sightings.check(at(0), {one, two}));
  CHECK_FALSE(sightings.check(at(100), {one, two}));
  CHECK_FALSE(sightings.is_blocked());
  CHECK(sightings.count() == 1);
}

TEST_CASE("who sees peers that are not linked may be blocked from those that are") {
  Sightings sightings;
  sightings.found(two);
  CHECK_FALSE(sightings.check(at(0), {one}));
  CHECK(sightings.check(at(30), {one}));
}

TEST_CASE("who has nobody to see on another machine is not blocked, however long") {
  Sightings sightings;
  CHECK_FALSE(sightings.check(at(0), {}));
  CHECK_FALSE(sightings.check(at(100), {}));
  CHECK_FALSE(sightings.check(at(100), {one}));
  CHECK_FALSE(sightings.check(at(120), {}));
  CHECK_FALSE(sightings.check(at(129), {one}));
  CHECK_FALSE(sightings.check(at(158), {one}));
  CHECK(sightings.check(at(159), {one}));
}

TEST_CASE("multicast that gets through again is not blocked any more, and is told of once") {
  Sightings sightings;
  sightings.check(at(0), {one});
  REQUIRE(sightings.check(at(30), {one}));
  sightings.found(one);
  CHECK_FALSE(sightings.check(at(31), {one}));
  CHECK_FALSE(sightings.is_blocked());
  sightings.gone(one);
  CHECK(sightings.count() == 0);
  CHECK_FALSE(sightings.check(at(32), {one}));
  CHECK_FALSE(sightings.check(at(70), {one}));
  CHECK(sightings.is_blocked());
}
