#include "gpl/store/snapshot_file.h"

#include <doctest/doctest.h>

#include "log_model.h"
#include "memory_disk.h"

namespace gpl::store {
namespace {

const raft::SnapshotMark mark{1234, 7, {{raft::NodeId{1}, raft::NodeId{2}}, {raft::NodeId{9}}}};

struct Read {
  Result<raft::SnapshotMark> mark;
  std::vector<std::string> parts;
};

Read read_all(MemoryDisk& disk, const std::string& name) {
  std::vector<std::string> parts;
  Result<raft::SnapshotMark> read = read_snapshot(disk, name, [&](std::string_view part) {
    parts.emplace_back(part);
    return success();
  });
  return {std::move(read), std::move(parts)};
}

MemoryDisk disk_with(const std::vector<std::string>& parts) {
  MemoryDisk disk;
  REQUIRE(perform_all(disk, snapshot_operations(mark, parts)).ok());
  return disk;
}

}  // namespace

TEST_CASE("A snapshot is read back as it was written, part by part") {
  for (const std::vector<std::string>& parts :
       {std::vector<std::string>{}, {"one"}, {"one", std::string(300'000, '2'), "three"}}) {
    MemoryDisk disk = disk_with(parts);
    CHECK(disk.list().value() == std::vector<std::string>{snapshot_name(mark)});
    const Read read = read_all(disk, snapshot_name(mark));
    CHECK(read.mark.value() == mark);
    CHECK(read.parts == parts);
  }
}

TEST_CASE("A part of nothing is left out") {
  MemoryDisk disk = disk_with({"", "a", "", "b", ""});
  CHECK(read_all(disk, snapshot_name(mark)).parts == std::vector<std::string>{"a", "b"});
}

TEST_CASE("A part over the limit is refused, and the snapshot does not get its name") {
  bool given = false;
  const Committer::Source source = write_snapshot(mark, [&]() -> std::optional<std::string> {
    if (std::exchange(given, true)) return std::nullopt;
    return std::string(snapshot_part_limit_bytes + 1, 'x');
  });
  MemoryDisk disk;
  Result<std::optional<Operation>> next = source();
  for (; next && next.value(); next = source()) REQUIRE(disk.perform(*next.value()).ok());
  REQUIRE_FALSE(next.ok());
  CHECK(next.error().code == Code::too_large);
  CHECK_FALSE(disk.has(snapshot_name(mark)));
}

TEST_CASE("A snapshot is synced before it has its name, and what was left of another is gone") {
  MemoryDisk disk;
  disk.put(std::string(saving_name), std::string(5000, 'x'));
  const std::vector<Operation> operations = snapshot_operations(mark, {"a", "b"});
  CHECK(operations.back() == Operation(Rename{std::string(saving_name), snapshot_name(mark)}));
  REQUIRE(perform_all(disk, {operations.begin(), operations.end() - 1}).ok());
  CHECK(disk.unsynced(std::string(saving_name)).empty());
  REQUIRE(disk.perform(operations.back()).ok());
  CHECK(read_all(disk, snapshot_name(mark)).mark.ok());
}

TEST_CASE("A large snapshot is synced on the way, so that no sync takes long") {
  const std::vector<Operation> operations =
      snapshot_operations(mark, std::vector<std::string>(12, std::string(1'000'000, 'x')));
  std::size_t since_sync = 0;
  for (const Operation& operation : operations) {
    if (const auto* write = std::get_if<Write>(&operation)) since_sync += write->bytes.size();
    if (std::holds_alternative<Sync>(operation)) since_sync = 0;
    CHECK(since_sync < 6'000'000);
  }
}

TEST_CASE("A snapshot that was cut at any length is refused with the place") {
  MemoryDisk disk = disk_with({"first part", "second part", std::string(100, 'x')});
  const std::string whole = disk.bytes(snapshot_name(mark));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    disk.put("s", whole.substr(0, length));
    const Read read = read_all(disk, "s");
    REQUIRE_FALSE(read.mark.ok());
    CHECK(read.mark.error().code == Code::invalid);
    CHECK(read.mark.error().message.starts_with("s is damaged at offset "));
  }
  disk.put("s", whole + '\0');
  CHECK_FALSE(read_all(disk, "s").mark.ok());
}

TEST_CASE("A flip of any bit of a snapshot is refused") {
  MemoryDisk disk = disk_with({"first part", "second part", std::string(100, 'x')});
  const std::string whole = disk.bytes(snapshot_name(mark));
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string changed = whole;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    disk.put("s", changed);
    const Read read = read_all(disk, "s");
    REQUIRE_FALSE(read.mark.ok());
    CHECK(read.mark.error().code == Code::invalid);
  }
}

TEST_CASE("A snapshot of a later version is told as such, whatever is behind the version") {
  MemoryDisk disk = disk_with({"part"});
  std::string bytes = disk.bytes(snapshot_name(mark));
  bytes[8] = 2;
  for (const std::string& rest : {std::string(), std::string(100, '\xff'), bytes.substr(12, 20)}) {
    disk.put("s", bytes.substr(0, 12) + rest);
    const Read read = read_all(disk, "s");
    REQUIRE_FALSE(read.mark.ok());
    CHECK(read.mark.error().code == Code::unsupported);
    CHECK(read.mark.error().message.find("at offset 8 is snapshot version 2") != std::string::npos);
  }
}

TEST_CASE("Parts that were left out, doubled or moved are noticed") {
  MemoryDisk disk = disk_with({"aaaa", "bbbb", "cccc"});
  const std::string whole = disk.bytes(snapshot_name(mark));
  const std::size_t part_bytes = 4 + 16;
  const std::size_t end_at = whole.size() - 24;
  const std::string head = whole.substr(0, end_at - 3 * part_bytes);
  const std::string a = whole.substr(head.size(), part_bytes);
  const std::string b = whole.substr(head.size() + part_bytes, part_bytes);
  const std::string c = whole.substr(head.size() + 2 * part_bytes, part_bytes);
  const std::string end = whole.substr(end_at);
  REQUIRE(head + a + b + c + end == whole);
  for (const std::string& wrong :
       {head + a + b + end, head + a + end, head + end, head + b + a + c + end,
        head + a + b + b + end, head + a + b + c + c + end, a + b + c + end}) {
    disk.put("s", wrong);
    CHECK_FALSE(read_all(disk, "s").mark.ok());
  }
}

TEST_CASE("A part that its taker refuses ends the reading with the taker's error") {
  MemoryDisk disk = disk_with({"a", "b"});
  int seen = 0;
  const auto read = read_snapshot(disk, snapshot_name(mark), [&](std::string_view) -> Status {
    ++seen;
    return Error{Code::unsupported, "no such thing"};
  });
  CHECK(read.error() == Error{Code::unsupported, "no such thing"});
  CHECK(seen == 1);
}

TEST_CASE("A file that is not there is not found, not damaged") {
  MemoryDisk disk;
  CHECK(read_all(disk, "s").mark.error().code == Code::not_found);
}

TEST_CASE("A snapshot that arrives in pieces becomes the same file") {
  MemoryDisk source = disk_with({"one", std::string(1000, '2')});
  const std::string bytes = source.bytes(snapshot_name(mark));
  MemoryDisk disk;
  // One that was given up first, longer than what comes.
  REQUIRE(perform_all(disk, incoming_piece(0, std::string(5000, 'x'))).ok());
  for (std::size_t at = 0; at < bytes.size(); at += 300) {
    REQUIRE(perform_all(disk, incoming_piece(at, bytes.substr(at, 300))).ok());
  }
  CHECK(read_all(disk, std::string(incoming_name)).mark.value() == mark);
  const std::vector<Operation> adopt = adopt_incoming(mark);
  REQUIRE(disk.perform(adopt.front()).ok());
  CHECK(disk.unsynced(std::string(incoming_name)).empty());
  REQUIRE(perform_all(disk, {adopt.begin() + 1, adopt.end()}).ok());
  CHECK(disk.list().value() == std::vector<std::string>{snapshot_name(mark)});
  CHECK(disk.bytes(snapshot_name(mark)) == bytes);
}

TEST_CASE("Names of snapshots tell index and term") {
  CHECK(snapshot_name(mark) == "snapshot-00000000000000001234-00000000000000000007");
  const auto parsed = parse_snapshot_name(snapshot_name(mark));
  REQUIRE(parsed.has_value());
  CHECK(*parsed == raft::SnapshotMark{1234, 7, {}});
  for (const char* name : {"snapshot.saving", "snapshot.incoming", "snapshot-", "snapshot-1-2",
                           "snapshot-00000000000000001234", "snapshot-00000000000000001234-",
                           "snapshot-00000000000000001234-000000000000000000071"}) {
    CHECK_FALSE(parse_snapshot_name(name).has_value());
  }
}

}  // namespace gpl::store
