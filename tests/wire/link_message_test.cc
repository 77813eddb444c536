// What two peers say to each other on their link: limits of its own. What holds for all that
// travels is in the other tests.
#include "gpl/wire/link_message.h"

#include <doctest/doctest.h>

#include <limits>
#include <string>

#include "gpl/wire/codec.h"
#include "gpl/wire/frame.h"
#include "gpl/wire/link_fields.h"

namespace gpl::wire {
namespace {

std::string refusal(const std::string& bytes) {
  const Result<LinkMessage> decoded = decode<LinkMessage>(bytes);
  REQUIRE(!decoded.ok());
  CHECK(decoded.error().code == Code::invalid);
  return decoded.error().message;
}

LinkHello full_hello() {
  LinkHello hello;
  hello.peer = PeerId{std::numeric_limits<std::uint64_t>::max()};
  hello.cluster = std::numeric_limits<std::uint64_t>::max();
  hello.name = std::string(255, 'n');
  hello.version = std::string(64, 'v');
  hello.process = std::numeric_limits<std::uint64_t>::max();
  hello.process_began = Instant{std::numeric_limits<std::int64_t>::min()};
  hello.port = 65535;
  hello.on_battery = hello.wireless = true;
  return hello;
}

}  // namespace

TEST_CASE("a question about a kind of holding that is not known is refused") {
  using namespace std::string_literals;
  CHECK(refusal("\x01\x92\x0d\x93\x01\x04\xc4\x00"s).find("there is no value 4") !=
        std::string::npos);
}

TEST_CASE("a number of peers that the message cannot hold is refused") {
  using namespace std::string_literals;
  CHECK(refusal("\x01\x92\x04\x91\xdd\xff\xff\xff\xff"s).find("4294967295") != std::string::npos);
}

TEST_CASE("every hello fits into the frame that strangers may send") {
  CHECK(encode(LinkMessage(full_hello())).size() < hello_limit_bytes);
}

TEST_CASE("a full book of addresses fits into a frame") {
  KnownPeers known;
  for (std::uint64_t id = 0; id < 1000; ++id) {
    known.peers.push_back({PeerId{~id}, std::string(255, 'n'), {}});
    for (int i = 0; i < 8; ++i)
      known.peers.back().addresses.emplace_back("[fd00:1111:2222:3333:4444:5555:6666:7777]:65535");
  }
  CHECK(encode(LinkMessage(known)).size() < frame_limit_bytes);
}

}  // namespace gpl::wire
