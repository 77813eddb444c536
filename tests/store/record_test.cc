#include "gpl/store/record.h"

#include <doctest/doctest.h>

#include "log_model.h"

namespace gpl::store {
namespace {

constexpr std::uint64_t offset = 4096;

template <class Body>
std::string encoded(const Body& body) {
  BatchWriter batch(7, 42, offset);
  batch.add(body);
  return batch.finish();
}

template <class Body>
Result<RecordBody> round_trip(const Body& body) {
  const std::string bytes = encoded(body);
  const std::optional<RecordHeader> header = decode_header(bytes, offset);
  REQUIRE(header.has_value());
  CHECK(record_bytes(*header) == bytes.size());
  CHECK(header->generation == 7);
  CHECK(header->batch == 42);
  CHECK(header->ends_batch());
  REQUIRE(is_intact(bytes, offset));
  return decode_body(*header, bytes);
}

const raft::SnapshotMark mark{9, 4, {{raft::NodeId{1}, raft::NodeId{5}}, {raft::NodeId{3}}}};

}  // namespace

TEST_CASE("Every kind of record is read back as it was written") {
  const std::vector<raft::Entry> entries = {
      entry_of(1, 1, ""),
      entry_of(~std::uint64_t{0}, 3, "seven b"),
      entry_of(2, 2, "eight by"),
      {5, 6, raft::EntryKind::noop, ""},
      {6, 6, raft::EntryKind::configuration, raft::encode(three_voters)},
      entry_of(3, 4, std::string(raft::entry_limit_bytes, '\xff'))};
  for (const raft::Entry& entry : entries) {
    CHECK(round_trip(entry).value() == RecordBody(entry));
    CHECK(record_bytes(entry) == encoded(entry).size());
  }
  const raft::HardState hard_state{12, raft::NodeId{3}};
  CHECK(round_trip(hard_state).value() == RecordBody(hard_state));
  CHECK(record_bytes(hard_state) == encoded(hard_state).size());
  CHECK(round_trip(mark).value() == RecordBody(mark));
  CHECK(record_bytes(mark) == encoded(mark).size());
  CHECK(round_trip(Onward{17}).value() == RecordBody(Onward{17}));
  CHECK(encoded(Onward{17}).size() == onward_bytes);
}

TEST_CASE("Only the last record of a batch says that it ends it") {
  BatchWriter batch(1, 2, offset);
  batch.add(raft::HardState{1, {}});
  batch.add(entry_of(1, 1, "x"));
  const std::string bytes = batch.finish();
  const auto first = decode_header(bytes, offset);
  REQUIRE(first.has_value());
  CHECK_FALSE(first->ends_batch());
  const std::size_t second_at = record_bytes(*first);
  const auto second = decode_header(std::string_view(bytes).substr(second_at), offset + second_at);
  REQUIRE(second.has_value());
  CHECK(second->ends_batch());
  CHECK(second->index == 1);
  CHECK(is_intact(std::string_view(bytes).substr(0, second_at), offset));
  CHECK(is_intact(std::string_view(bytes).substr(second_at), offset + second_at));
}

TEST_CASE("A copy of a record at another place is no record") {
  const std::string bytes = encoded(entry_of(1, 1, "data"));
  CHECK(decode_header(bytes, offset).has_value());
  CHECK_FALSE(decode_header(bytes, offset + 8).has_value());
  CHECK_FALSE(is_intact(bytes, offset + 8));
}

TEST_CASE("A flip of any bit of a record is noticed") {
  const std::string bytes = encoded(entry_of(1, 1, "abc"));
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string changed = bytes;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    CHECK_FALSE(is_intact(changed, offset));
    if (bit / 8 < record_header_bytes) CHECK_FALSE(decode_header(changed, offset).has_value());
  }
}

TEST_CASE("Zeros and too few bytes are no record") {
  CHECK_FALSE(decode_header(std::string(64, '\0'), 0).has_value());
  CHECK_FALSE(
      decode_header(encoded(Onward{1}).substr(0, record_header_bytes - 1), offset).has_value());
  CHECK_FALSE(is_intact("", 0));
}

TEST_CASE("A payload that no version writes is refused though the checksums match") {
  const std::string hard_state = encoded(raft::HardState{1, {}});
  auto header = decode_header(hard_state, offset);
  REQUIRE(header.has_value());
  header->index = 1;
  CHECK(decode_body(*header, hard_state).error().code == Code::invalid);
  header->index = 0;
  header->type = 1;  // an entry of index 0
  CHECK(decode_body(*header, hard_state).error().code == Code::invalid);
  header->type = 4;  // onward with a payload
  CHECK(decode_body(*header, hard_state).error().code == Code::invalid);
}

TEST_CASE(
    "Fields that no version writes are no header of a record, and one of an unknown type is") {
  const RecordHeader header{16, 2, 1, 0, 7, 42, 0};
  CHECK(check(header).ok());
  const auto code_with = [&](auto change) {
    RecordHeader changed = header;
    change(changed);
    return check(changed).error().code;
  };
  CHECK(code_with([](RecordHeader& h) { h.type = 0; }) == Code::invalid);
  CHECK(code_with([](RecordHeader& h) { h.flags = 2; }) == Code::invalid);
  CHECK(code_with([](RecordHeader& h) { h.reserved = 1; }) == Code::invalid);
  CHECK(code_with([](RecordHeader& h) { h.payload_bytes = payload_limit_bytes + 1; }) ==
        Code::invalid);
  CHECK(code_with([](RecordHeader& h) { h.type = 5; }) == Code::unsupported);
}

TEST_CASE("A record of an unknown type is told as one of a newer version") {
  const std::string bytes = encoded(Onward{1});
  auto header = decode_header(bytes, offset);
  REQUIRE(header.has_value());
  header->type = 5;
  CHECK(decode_body(*header, bytes).error().code == Code::unsupported);
}

}  // namespace gpl::store
