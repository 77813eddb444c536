#include "gpl/host/record.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

using gpl::Code;
using gpl::host::Record;

namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

std::string bytes_without(const std::string& left_out, std::size_t at_least) {
  auto bytes = *rc::gen::arbitrary<std::string>();
  for (char& byte : bytes) {
    if (left_out.find(byte) != std::string::npos) byte = 'x';
  }
  if (bytes.size() < at_least) bytes = "k";
  return bytes;
}

Pairs arbitrary_pairs() {
  Pairs pairs;
  const int count = *rc::gen::inRange(0, 20);
  for (int i = 0; i < count; ++i) {
    std::string key = bytes_without(std::string("=\0", 2), 1);
    pairs.emplace_back(std::move(key), bytes_without(std::string("\0", 1), 0));
  }
  return pairs;
}

Record record_of(const Pairs& pairs) {
  Record record;
  for (const auto& [key, value] : pairs) record.add(key, value);
  return record;
}

}  // namespace

TEST_CASE("a record reads back what was put in, whatever bytes without NUL") {
  CHECK(rc::check([] {
    const Pairs pairs = arbitrary_pairs();
    const std::string bytes = record_of(pairs).encode();
    const auto read = Record::decode(bytes);
    RC_ASSERT(read.ok());
    RC_ASSERT(read.value().encode() == bytes);
    for (const auto& [key, value] : pairs) {
      std::vector<std::string> all;
      for (const auto& [other, its] : pairs) {
        if (other == key) all.push_back(its);
      }
      RC_ASSERT(read.value().all(key) == all);
      RC_ASSERT(read.value().get(key) == all.front());
    }
  }));
}

TEST_CASE("a record that was cut short in a pair is refused") {
  CHECK(rc::check([] {
    const Pairs pairs = arbitrary_pairs();
    const std::string bytes = record_of(pairs).encode();
    RC_PRE(!bytes.empty());
    const auto length = *rc::gen::inRange<std::size_t>(0, bytes.size());
    const std::string cut = bytes.substr(0, length);
    const bool between_pairs = cut.empty() || cut.back() == '\0';
    RC_ASSERT(Record::decode(cut).ok() == between_pairs);
  }));
}

TEST_CASE("decode takes exactly the bytes that it would encode again") {
  CHECK(rc::check([](const std::string& bytes) {
    const auto read = Record::decode(bytes);
    if (read.ok()) RC_ASSERT(read.value().encode() == bytes);
  }));
}

TEST_CASE("bytes that are no record are refused as invalid") {
  for (const std::string& bytes :
       {std::string("a=b"), std::string("a\0", 2), std::string("=b\0", 3), std::string("\0", 1),
        std::string("a=b\0\0", 5), std::string("a=b\0c\0", 6)}) {
    CAPTURE(bytes);
    const auto read = Record::decode(bytes);
    REQUIRE_FALSE(read.ok());
    CHECK(read.error().code == Code::invalid);
  }
}

TEST_CASE("the form on disk is KEY=VALUE, each with a NUL at its end") {
  Record record;
  record.add("argv", "a=b");
  record.add("argv", "");
  record.add("code", std::int64_t{-7});
  CHECK(record.encode() == std::string("argv=a=b\0argv=\0code=-7\0", 23));
  CHECK(Record().encode().empty());
  CHECK(Record::decode("").ok());
}

TEST_CASE("a value is cut at its first NUL") {
  Record record;
  record.add("key", std::string_view("ab\0cd", 5));
  CHECK(record.get("key") == "ab");
}

TEST_CASE("a key that is not there is empty, and no number") {
  const Record record;
  CHECK(record.get("absent").empty());
  CHECK(record.all("absent").empty());
  CHECK(record.number("absent") == 0);
  CHECK(record.number("absent", 5) == 5);
}

TEST_CASE("numbers read back whole, and what is none gives the other") {
  Record record;
  for (const std::int64_t number :
       {std::int64_t{0}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::min(),
        std::numeric_limits<std::int64_t>::max()}) {
    const std::string key = "n" + std::to_string(number);
    record.add(key, number);
    CHECK(record.number(key, 99) == number);
  }
  for (const std::string text : {"", " 1", "1 ", "1x", "0x1", "+1", "9223372036854775808", "-"}) {
    CAPTURE(text);
    record.add("t" + text, text);
    CHECK(record.number("t" + text, 99) == 99);
  }
}
