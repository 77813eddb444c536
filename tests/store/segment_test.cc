#include "gpl/store/segment.h"

#include <doctest/doctest.h>

#include "gpl/store/checksum.h"

namespace gpl::store {
namespace {

const SegmentHeader header{17, 3, 4096, 99, 1000, 512};

std::string with_checksum(std::string bytes) {
  const std::uint64_t sum = checksum(std::string_view(bytes).substr(0, bytes.size() - 8), 0);
  for (std::size_t i = 0; i < 8; ++i) {
    bytes[bytes.size() - 8 + i] = static_cast<char>(static_cast<unsigned char>(sum >> (8 * i)));
  }
  return bytes;
}

}  // namespace

TEST_CASE("A segment's header is read back as it was written") {
  const std::string bytes = encode(header);
  CHECK(bytes.size() == segment_header_bytes);
  CHECK(decode_segment_header("wal", bytes).value() == header);
  CHECK(decode_segment_header("wal", bytes + "records").value() == header);
}

TEST_CASE("A header that is cut short, or changed in any bit, is damage that names the file") {
  const std::string bytes = encode(header);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const auto cut = decode_segment_header("wal-x", bytes.substr(0, length));
    REQUIRE_FALSE(cut.ok());
    CHECK(cut.error().message.starts_with("wal-x is damaged at offset "));
  }
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string changed = bytes;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    const auto flipped = decode_segment_header("wal-x", changed);
    REQUIRE_FALSE(flipped.ok());
    CHECK(flipped.error().code == Code::invalid);
  }
}

TEST_CASE("A segment of a later version is refused with its version, not as damage") {
  std::string bytes = encode(header);
  bytes[8] = 2;
  const auto newer = decode_segment_header("wal-x", with_checksum(bytes));
  REQUIRE_FALSE(newer.ok());
  CHECK(newer.error().code == Code::unsupported);
  CHECK(newer.error().message ==
        "wal-x was written by a newer gpl: at offset 8 is segment version 2, which this one does "
        "not know; start that gpl");
}

TEST_CASE("Bytes of a header that must be zero are checked") {
  std::string bytes = encode(header);
  bytes[70] = 1;
  CHECK(decode_segment_header("wal-x", with_checksum(bytes)).error().code == Code::invalid);
}

TEST_CASE("Names of segments have 20 digits, and nothing else is one") {
  CHECK(segment_name(17) == "wal-00000000000000000017");
  CHECK(parse_segment_name(segment_name(17)) == 17);
  CHECK(parse_segment_name(segment_name(~std::uint64_t{0})) == ~std::uint64_t{0});
  for (const char* name :
       {"wal-", "wal-17", "wal-000000000000000000017", "wal-0000000000000000001x",
        "wal-99999999999999999999", "wal- 0000000000000000017", "snapshot-1",
        "xwal-00000000000000000017", "wal-00000000000000000017.old"}) {
    CAPTURE(name);
    CHECK_FALSE(parse_segment_name(name).has_value());
  }
  CHECK(is_spare_name(spare_name(3)));
  CHECK_FALSE(is_spare_name(segment_name(3)));
}

}  // namespace gpl::store
