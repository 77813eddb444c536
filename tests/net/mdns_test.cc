#include "gpl/net/mdns.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "run_until.h"

using namespace gpl;

TEST_CASE("it opens on any machine, with or without a network, and ends at once") {
  auto loop = make_loop();
  auto opened = net::Mdns::open(*loop, {net::MdnsService{"unit-test", 7457, {{"id", "1"}}}},
                                {[](const net::MdnsFound&) {}, [](const std::string&) {}, {}});
  REQUIRE(opened.ok());
  const std::unique_ptr<net::Mdns> mdns = std::move(opened).value();
  mdns->look();
  mdns->announce(net::MdnsService{"unit-test", 7458, {}});
  run_ready(*loop);
}
