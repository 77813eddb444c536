#include "gpl/auth/channel.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

using gpl::Code;
using gpl::Status;
using gpl::auth::KeyBytes;
using gpl::auth::Opener;
using gpl::auth::record_limit_bytes;
using gpl::auth::record_tag_bytes;
using gpl::auth::Sealer;

namespace {

constexpr std::size_t most_plain_bytes = record_limit_bytes - record_tag_bytes;

const KeyBytes key = [] {
  KeyBytes bytes{};
  bytes.fill(7);
  return bytes;
}();

std::string sealed(Sealer& sealer, std::string_view plain) {
  std::string out;
  sealer.seal(plain, out);
  return out;
}

/// One after the other: the operands of a + are evaluated in any order.
std::string sealed_in_turn(Sealer& sealer, std::initializer_list<std::string_view> texts) {
  std::string out;
  for (const std::string_view text : texts) sealer.seal(text, out);
  return out;
}

/// Code of the failure to open `stream`; nothing is taken for fine.
Code failure_of(std::string_view stream, std::string& plain) {
  Opener opener(key);
  const Status opened = opener.open(stream, plain);
  REQUIRE(!opened.ok());
  // It is the same ever after, whatever comes.
  Sealer sealer(key);
  const Status later = opener.open(sealed(sealer, "x"), plain);
  REQUIRE(!later.ok());
  CHECK(later.error() == opened.error());
  CHECK(opener.held_bytes() < 64);
  return opened.error().code;
}
Code failure_of(std::string_view stream) {
  std::string plain;
  return failure_of(stream, plain);
}

}  // namespace

TEST_CASE("what is sealed comes out in pieces of any size, with any number of records a key") {
  CHECK(rc::check([] {
    const std::uint64_t records_a_key = *rc::gen::inRange<std::uint64_t>(1, 5);
    Sealer sealer(key, records_a_key);
    Opener opener(key, records_a_key);
    std::string said;
    std::string stream;
    for (const std::string& text : *rc::gen::arbitrary<std::vector<std::string>>()) {
      said += text;
      sealer.seal(text, stream);
    }
    std::string heard;
    while (!stream.empty()) {
      const std::size_t size = *rc::gen::inRange<std::size_t>(1, 40);
      RC_ASSERT(opener.open(stream.substr(0, size), heard).ok());
      stream.erase(0, size);
    }
    RC_ASSERT(heard == said);
    RC_ASSERT(!opener.within_record());
  }));
}

TEST_CASE("as few records as possible hold what is sealed, and none hold nothing") {
  const auto overhead = [](std::size_t size) {
    Sealer sealer(key);
    return sealed(sealer, std::string(size, 'x')).size() - size;
  };
  CHECK(overhead(0) == 0);
  CHECK(overhead(1) == 18);
  CHECK(overhead(most_plain_bytes) == 18);
  CHECK(overhead(most_plain_bytes + 1) == 36);
  CHECK(overhead(2 * most_plain_bytes) == 36);
}

TEST_CASE("sealing appends to what is there, and so does opening") {
  Sealer sealer(key);
  Opener opener(key);
  std::string stream = "before";
  sealer.seal("text", stream);
  CHECK(stream.starts_with("before"));
  std::string plain = "said ";
  CHECK(opener.open(stream.substr(6), plain).ok());
  CHECK(plain == "said text");
}

TEST_CASE("both sides take the next key after the same record") {
  Sealer one(key, 2);
  Sealer other(key, 3);
  CHECK(sealed(one, "a") == sealed(other, "a"));
  CHECK(sealed(one, "b") == sealed(other, "b"));
  const std::string third = sealed(one, "c");
  CHECK(third != sealed(other, "c"));
  std::string plain;
  Opener opener(key, 2);
  Sealer again(key, 2);
  CHECK(opener.open(sealed_in_turn(again, {"a", "b"}) + third, plain).ok());
  CHECK(plain == "abc");
  Opener late(key, 3);
  Sealer once_more(key, 2);
  CHECK(!late.open(sealed_in_turn(once_more, {"a", "b"}) + third, plain).ok());
}

TEST_CASE("a byte changed anywhere in a stream of records is found") {
  Sealer sealer(key);
  const std::string stream = sealed_in_turn(sealer, {"first", "second"});
  const std::size_t first_bytes = 2 + 5 + record_tag_bytes;
  for (std::size_t at = 0; at < stream.size(); ++at) {
    CAPTURE(at);
    std::string changed = stream;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    Opener opener(key);
    std::string plain;
    const Status opened = opener.open(changed, plain);
    // A length that was made larger waits for bytes that do not come: the end of the stream shows.
    CHECK((!opened.ok() || opener.within_record()));
    CHECK(plain == std::string(at < first_bytes ? "" : "first"));
  }
}

TEST_CASE("records left out, doubled, swapped or of another direction are denied") {
  Sealer sealer(key);
  const std::string first = sealed(sealer, "first");
  const std::string second = sealed(sealer, "second");
  CHECK(failure_of(second) == Code::denied);
  CHECK(failure_of(first + first) == Code::denied);
  std::string plain;
  CHECK(failure_of(second + first, plain) == Code::denied);
  CHECK(plain.empty());
  KeyBytes other_key = key;
  other_key[31] ^= 1;
  Sealer other(other_key);
  CHECK(failure_of(sealed(other, "first")) == Code::denied);
}

TEST_CASE("a record that has no room for a byte and its tag is invalid") {
  for (std::size_t length = 0; length <= record_tag_bytes; ++length) {
    CAPTURE(length);
    std::string stream(2 + length, '\0');
    stream[1] = static_cast<char>(length);
    CHECK(failure_of(stream) == Code::invalid);
    CHECK(failure_of(stream.substr(0, 2)) == Code::invalid);
  }
}

TEST_CASE("no more than one record is kept, however long it says to be") {
  Opener opener(key);
  std::string plain;
  CHECK(opener.open("\xff", plain).ok());
  CHECK(opener.within_record());
  CHECK(opener.open(std::string("\xff") + std::string(65000, 'x'), plain).ok());
  CHECK(opener.held_bytes() <= 2 + record_limit_bytes + 1);
  const Status opened = opener.open(std::string(1000000, 'x'), plain);
  REQUIRE(!opened.ok());
  CHECK(opened.error().code == Code::denied);
  CHECK(plain.empty());
}

TEST_CASE("an end within a record shows") {
  Sealer sealer(key);
  const std::string stream = sealed(sealer, "text");
  for (std::size_t size = 0; size <= stream.size(); ++size) {
    Opener opener(key);
    std::string plain;
    CHECK(opener.open(stream.substr(0, size), plain).ok());
    CHECK(opener.within_record() == (size != 0 && size != stream.size()));
  }
}

TEST_CASE("a half of a channel is in one place, and goes on where it is moved to") {
  static_assert(!std::is_copy_constructible_v<Sealer> && !std::is_copy_assignable_v<Sealer>);
  static_assert(!std::is_copy_constructible_v<Opener> && !std::is_copy_assignable_v<Opener>);
  Sealer first(key, 2);
  Opener taker(key, 2);
  const std::string stream = sealed_in_turn(first, {"a", "b", "c"});
  std::string plain;
  REQUIRE(taker.open(stream.substr(0, stream.size() - 1), plain).ok());
  Sealer second(std::move(first));
  Opener other(std::move(taker));
  CHECK(other.within_record());
  REQUIRE(other.open(stream.substr(stream.size() - 1) + sealed(second, "d"), plain).ok());
  Sealer third(KeyBytes{}, 7);
  third = std::move(second);
  Opener last(KeyBytes{}, 7);
  last = std::move(other);
  REQUIRE(last.open(sealed(third, "e"), plain).ok());
  CHECK(plain == "abcde");
}
