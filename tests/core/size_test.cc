#include "gpl/core/size.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <limits>
#include <string>

using gpl::format_file_size;
using gpl::format_memory_size;
using gpl::parse_size;

namespace {

constexpr std::uint64_t gib = 1024ULL * 1024 * 1024;

std::uint64_t bytes_of(const std::string& text) {
  const auto parsed = parse_size(text);
  REQUIRE_MESSAGE(parsed.ok(), text);
  return parsed.value();
}

std::string refusal_of(const std::string& text) {
  const auto parsed = parse_size(text);
  REQUIRE_MESSAGE(!parsed.ok(), text);
  CHECK(parsed.error().code == gpl::Code::invalid);
  return parsed.error().message;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a size is read with decimal and binary units, with or without B") {
  CHECK(bytes_of("0") == 0);
  CHECK(bytes_of("512") == 512);
  CHECK(bytes_of("512B") == 512);
  CHECK(bytes_of("3K") == 3'000);
  CHECK(bytes_of("3KB") == 3'000);
  CHECK(bytes_of("2M") == 2'000'000);
  CHECK(bytes_of("16G") == 16'000'000'000);
  CHECK(bytes_of("1T") == 1'000'000'000'000);
  CHECK(bytes_of("1Ki") == 1024);
  CHECK(bytes_of("1MiB") == 1024 * 1024);
  CHECK(bytes_of("16Gi") == 16 * gib);
  CHECK(bytes_of("2TiB") == 2048 * gib);
}

TEST_CASE("a fraction of a unit is exact, and rounded down to a whole byte") {
  CHECK(bytes_of("1.5G") == 1'500'000'000);
  CHECK(bytes_of("0.5Ki") == 512);
  CHECK(bytes_of("0.1T") == 100'000'000'000);
  CHECK(bytes_of("0.3Gi") == 322'122'547);
  CHECK(bytes_of("0.29K") == 290);
  CHECK(bytes_of("1.0009K") == 1000);
  CHECK(bytes_of("0." + std::string(100'000, '9') + "K") == 999);
}

TEST_CASE("the largest size is read, and one byte more is refused") {
  CHECK(bytes_of("18446744073709551615") == std::numeric_limits<std::uint64_t>::max());
  CHECK(bytes_of("16777215Ti") == 16777215ULL * 1024 * gib);
  for (const char* text : {"18446744073709551616", "99999999999999999999", "16777216Ti",
                           "18446744073709551.616K", "18446744.1T"}) {
    CAPTURE(text);
    CHECK(contains(refusal_of(text), "is too large a size: the largest is 18446744073709551615"));
  }
}

TEST_CASE("a refused size names its text and column") {
  struct Row {
    const char* text;
    const char* part;
  };
  const Row rows[] = {{"", "it is empty, at column 1"},
                      {"G", "it has no number, at column 1"},
                      {"-1G", "it has no number, at column 1"},
                      {".5G", "it has no number, at column 1"},
                      {"16g", "'g' is not a unit (K M G T, Ki Mi Gi Ti), at column 3"},
                      {"16 G", "' G' is not a unit (K M G T, Ki Mi Gi Ti), at column 3"},
                      {"1GBB", "'GBB' is not a unit (K M G T, Ki Mi Gi Ti), at column 2"},
                      {"1P", "'P' is not a unit (K M G T, Ki Mi Gi Ti), at column 2"},
                      {"1.G", "a digit is missing after '.', at column 3"},
                      {"1.5", "a fraction needs a unit, at column 4"},
                      {"1.5B", "a fraction needs a unit, at column 4"},
                      {"1.5.5G", "'.5G' is not a unit (K M G T, Ki Mi Gi Ti), at column 4"}};
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const std::string message = refusal_of(row.text);
    CHECK_MESSAGE(contains(message, row.part), message);
    CHECK(contains(message, "'" + std::string(row.text) + "'"));
  }
}

TEST_CASE("law: a number of bytes reads back as itself") {
  CHECK(rc::check([](std::uint64_t bytes) {
    const auto parsed = parse_size(std::to_string(bytes));
    RC_ASSERT(parsed.ok());
    RC_ASSERT(parsed.value() == bytes);
  }));
}

TEST_CASE("law: thousandths of a G are read as millions of bytes, exactly") {
  CHECK(rc::check([] {
    const auto thousandths = *rc::gen::inRange<std::uint64_t>(0, 10'000'000);
    std::string fraction = std::to_string(thousandths % 1000);
    fraction.insert(0, 3 - fraction.size(), '0');
    const auto parsed = parse_size(std::to_string(thousandths / 1000) + "." + fraction + "G");
    RC_ASSERT(parsed.ok());
    RC_ASSERT(parsed.value() == thousandths * 1'000'000);
  }));
}

TEST_CASE("law: a shown size is within its rounding of the bytes, when read again") {
  CHECK(rc::check([] {
    const auto bytes = *rc::gen::inRange<std::uint64_t>(0, 1'000'000'000'000'000);
    const auto read_again = [](std::string shown) {
      shown.erase(shown.find(' '), 1);
      const auto parsed = parse_size(shown);
      RC_ASSERT(parsed.ok());
      return parsed.value();
    };
    const auto within = [](std::uint64_t a, std::uint64_t b, std::uint64_t slack) {
      return a > b ? a - b <= slack : b - a <= slack;
    };
    // A file's size: half of the last shown digit, which is a twentieth of the value at most.
    RC_ASSERT(within(read_again(format_file_size(bytes)), bytes, bytes / 19 + 1));
    // Memory: half of a tenth of the unit, and the unit is no more than the value.
    RC_ASSERT(within(read_again(format_memory_size(bytes)), bytes, bytes / 19 + 1));
  }));
}

TEST_CASE("memory is shown in GiB with one decimal, smaller in its unit") {
  CHECK(format_memory_size(24 * gib) == "24.0 GiB");
  CHECK(format_memory_size(gib * 81 / 10) == "8.1 GiB");
  CHECK(format_memory_size(81'559ULL * 1024 * 1024) == "79.6 GiB");
  CHECK(format_memory_size(2048 * gib) == "2048.0 GiB");
  CHECK(format_memory_size(512ULL * 1024 * 1024) == "512.0 MiB");
  CHECK(format_memory_size(gib - 1) == "1.0 GiB");
  CHECK(format_memory_size(1023) == "1023 B");
  CHECK(format_memory_size(0) == "0 B");
  CHECK(format_memory_size(std::numeric_limits<std::uint64_t>::max()) == "17179869184.0 GiB");
}

TEST_CASE("a file's size is shown short and decimal") {
  CHECK(format_file_size(0) == "0 B");
  CHECK(format_file_size(999) == "999 B");
  CHECK(format_file_size(3'000) == "3 KB");
  CHECK(format_file_size(3'210) == "3.2 KB");
  CHECK(format_file_size(5'120'000) == "5.1 MB");
  CHECK(format_file_size(412'345'678) == "412 MB");
  CHECK(format_file_size(9'949) == "9.9 KB");
  CHECK(format_file_size(9'960) == "10 KB");
  CHECK(format_file_size(999'400) == "999 KB");
  CHECK(format_file_size(999'500) == "1 MB");
  CHECK(format_file_size(7'500'000'000'000'000) == "7500 TB");
}
