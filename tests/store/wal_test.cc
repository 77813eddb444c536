#include "gpl/store/wal.h"

#include <doctest/doctest.h>

#include "gpl/store/segment.h"
#include "log_model.h"
#include "memory_disk.h"

namespace gpl::store {
namespace {

constexpr WalOptions small{.segment_bytes = 2048};

struct Fixture {
  MemoryDisk disk;
  raft::Term written_term = 0;

  Result<Wal::Opened> open(WalOptions options = small) {
    return Wal::open(disk, three_voters, options);
  }
  Wal::Opened opened() {
    Result<Wal::Opened> opened = open();
    if (!opened) FAIL(opened.error().message);
    return std::move(opened).value();
  }
  void perform(const std::vector<Operation>& operations) {
    REQUIRE(perform_all(disk, operations).ok());
  }
  void compact(Wal& wal, const raft::SnapshotMark& mark) {
    perform(wal.compact(mark));
    wal.compacted(success());
  }
  /// With the entries' term before them, where the node had not got to it.
  void append(Wal& wal, raft::Persist persist) {
    for (const raft::Entry& entry : persist.entries) {
      if (!persist.hard_state && entry.term > written_term) persist.hard_state = {entry.term, {}};
    }
    if (persist.hard_state) written_term = persist.hard_state->term;
    perform(wal.append({persist}));
  }
  /// Entries of 100 bytes with indices from `first` to `last`, one a batch.
  void append_range(Wal& wal, raft::Index first, raft::Index last, raft::Term term = 1) {
    for (raft::Index index = first; index <= last; ++index) {
      append(wal, persist_of({}, {entry_of(index, term, std::string(100, 'x'))}));
    }
  }
  std::vector<std::string> names() { return disk.list().value(); }
  std::string refusal(WalOptions options = small) {
    const MemoryDisk before = disk;
    Result<Wal::Opened> opened = open(options);
    REQUIRE_FALSE(opened.ok());
    CHECK(disk == before);
    return opened.error().message;
  }
  void save_snapshot(const raft::SnapshotMark& mark) {
    perform(snapshot_operations(mark, {"state"}));
  }
};

const raft::SnapshotMark bootstrap{0, 0, three_voters};
const raft::HardState voted{5, raft::NodeId{2}};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "An empty folder becomes a new log with the bootstrap configuration") {
  const Wal::Opened first = opened();
  CHECK(first.restored == raft::Restored{{}, bootstrap, {}});
  CHECK(first.snapshot_name.empty());
  CHECK(first.notes.empty());
  CHECK(names() == std::vector<std::string>{segment_name(1)});
  // The configuration on disk counts, not that of a later start.
  const auto again = Wal::open(disk, {}, small);
  CHECK(again.value().restored == first.restored);
}

TEST_CASE_FIXTURE(Fixture, "What was appended is found again, in order") {
  Wal::Opened log = opened();
  append(log.wal, persist_of(voted, {entry_of(1, 5, "a"), entry_of(2, 5, "b")}));
  append(log.wal, persist_of({}, {entry_of(3, 5, "c")}));
  perform(log.wal.append(
      {persist_of(raft::HardState{6, {}}, {}), persist_of({}, {entry_of(4, 6, "d")})}));
  const raft::Restored expected{
      {6, {}},
      bootstrap,
      {entry_of(1, 5, "a"), entry_of(2, 5, "b"), entry_of(3, 5, "c"), entry_of(4, 6, "d")}};
  CHECK(opened().restored == expected);
  const Wal::Opened again = opened();
  CHECK(again.restored == expected);
  CHECK(again.notes.empty());
}

TEST_CASE_FIXTURE(Fixture, "Entries take the place of those from their index on") {
  Wal::Opened log = opened();
  append_range(log.wal, 1, 30);
  append(log.wal, persist_of(raft::HardState{2, {}}, {entry_of(7, 2, "new")}));
  const raft::Restored restored = opened().restored;
  REQUIRE(restored.entries.size() == 7);
  CHECK(restored.entries.back() == entry_of(7, 2, "new"));
}

TEST_CASE_FIXTURE(Fixture, "A batch with nothing in it is a batch all the same") {
  Wal::Opened log = opened();
  append(log.wal, persist_of(voted, {}));
  append(log.wal, {});
  CHECK(opened().restored.hard_state == voted);
}

TEST_CASE_FIXTURE(Fixture, "A log that is opened again goes on where it ended") {
  raft::Index index = 0;
  for (int i = 0; i < 20; ++i) {
    Wal::Opened log = opened();
    CHECK(log.restored.entries.size() == index);
    append_range(log.wal, index + 1, index + 3);
    index += 3;
  }
  CHECK(names().size() < 10);  // no segment a start
}

TEST_CASE_FIXTURE(Fixture, "A segment made ahead is used, and another asked for") {
  Wal::Opened log = opened();
  const std::vector<Operation> made = log.wal.prepare();
  REQUIRE(made.size() == 1);
  CHECK(log.wal.prepare().empty());  // being made
  perform(made);
  log.wal.prepared(success());
  CHECK(log.wal.prepare().empty());  // there
  for (raft::Index index = 1; names().size() == 2; ++index) {
    for (const Operation& operation :
         log.wal.append({persist_of({}, {entry_of(index, 1, std::string(100, 'x'))})})) {
      CHECK_FALSE(std::holds_alternative<Create>(operation));
      perform({operation});
    }
    if (disk.has(segment_name(2))) break;
  }
  CHECK(names() == std::vector<std::string>{segment_name(1), segment_name(2)});
  CHECK(log.wal.prepare().size() == 1);
  log.wal.prepared(Error{Code::io, "No space left on device"});
  CHECK(log.wal.prepare().empty());  // not again before the next segment
}

TEST_CASE_FIXTURE(Fixture, "A log that is ahead of its preparation makes the segment itself") {
  Wal::Opened log = opened();
  const std::vector<Operation> late = log.wal.prepare();
  append_range(log.wal, 1, 40);
  CHECK(disk.has(segment_name(3)));
  perform(late);
  log.wal.prepared(success());
  append_range(log.wal, 41, 80);
  CHECK(opened().restored.entries.size() == 80);
}

TEST_CASE_FIXTURE(
    Fixture, "A preparation that failed is made again, under another name, with the next segment") {
  Wal::Opened log = opened();
  const std::vector<Operation> first = log.wal.prepare();
  log.wal.prepared(Error{Code::io, "full"});
  CHECK(log.wal.prepare().empty());
  append_range(log.wal, 1, 30);
  const std::vector<Operation> second = log.wal.prepare();
  REQUIRE(second.size() == 1);
  CHECK(std::get<Create>(first[0]).name != std::get<Create>(second[0]).name);
}

TEST_CASE_FIXTURE(Fixture, "A batch larger than a segment gets a segment of its size") {
  Wal::Opened log = opened();
  perform(log.wal.prepare());
  log.wal.prepared(success());
  append(log.wal, persist_of({}, {entry_of(1, 1, "small")}));
  append(log.wal, persist_of({}, {entry_of(2, 1, std::string(raft::entry_limit_bytes, 'l')),
                                  entry_of(3, 1, std::string(5000, 'm'))}));
  append_range(log.wal, 4, 20);
  const raft::Restored restored = opened().restored;
  CHECK(restored.entries.size() == 20);
  CHECK(restored.entries[1].data == std::string(raft::entry_limit_bytes, 'l'));
  CHECK(disk.bytes(segment_name(2)).size() > raft::entry_limit_bytes);
  CHECK(disk.bytes(segment_name(3)).size() == small.segment_bytes);
}

TEST_CASE_FIXTURE(Fixture, "Each append ends with a sync of what it wrote") {
  Wal::Opened log = opened();
  for (raft::Index index = 1; index < 60; ++index) {
    perform(log.wal.append({persist_of({}, {entry_of(index, 1, std::string(100, 'x'))})}));
    for (const std::string& name : names()) CHECK(disk.unsynced(name).empty());
  }
}

TEST_CASE_FIXTURE(Fixture,
                  "Work that was left half done is removed at the next start, nothing else") {
  Wal::Opened log = opened();
  perform(log.wal.prepare());
  disk.put("snapshot.saving", "half");
  disk.put("snapshot.incoming", "half");
  disk.put("notes.txt", "a person's");
  opened();
  CHECK(names() == std::vector<std::string>{"notes.txt", segment_name(1)});
}

TEST_CASE_FIXTURE(Fixture,
                  "Compaction removes the segments and snapshots that a snapshot made needless") {
  Wal::Opened log = opened();
  append_range(log.wal, 1, 60);
  save_snapshot({20, 1, three_voters});
  compact(log.wal, {20, 1, three_voters});
  CHECK_FALSE(disk.has(segment_name(1)));
  save_snapshot({50, 1, three_voters});
  const std::size_t before = names().size();
  compact(log.wal, {50, 1, three_voters});
  CHECK(names().size() < before - 1);
  CHECK_FALSE(disk.has(snapshot_name({20, 1, {}})));

  const Wal::Opened again = opened();
  CHECK(again.snapshot_name == snapshot_name({50, 1, {}}));
  CHECK(again.restored.snapshot == raft::SnapshotMark{50, 1, three_voters});
  REQUIRE(again.restored.entries.size() == 10);
  CHECK(again.restored.entries.front().index == 51);
}

TEST_CASE_FIXTURE(Fixture,
                  "What could not be removed is removed with the next compaction, in order") {
  Wal::Opened log = opened();
  append_range(log.wal, 1, 60);
  save_snapshot({30, 1, three_voters});
  const std::vector<Operation> first = log.wal.compact({30, 1, three_voters});
  REQUIRE(first.size() > 1);
  CHECK(first[0] == Operation(Remove{segment_name(1)}));
  CHECK(log.wal.compact({30, 1, three_voters}).empty());  // being removed
  log.wal.compacted(Error{Code::io, "Input/output error"});
  save_snapshot({50, 1, three_voters});
  const std::vector<Operation> second = log.wal.compact({50, 1, three_voters});
  REQUIRE(second.size() > first.size());
  CHECK(std::equal(first.begin(), first.end(), second.begin()));
  perform(second);
  log.wal.compacted(success());
  CHECK(opened().restored.entries.size() == 10);
}

TEST_CASE_FIXTURE(Fixture, "A start makes good the compaction that a crash prevented") {
  Wal::Opened log = opened();
  append_range(log.wal, 1, 60);
  save_snapshot({20, 1, three_voters});
  save_snapshot({50, 1, three_voters});
  opened();
  CHECK_FALSE(disk.has(segment_name(1)));
  CHECK_FALSE(disk.has(snapshot_name({20, 1, {}})));
  CHECK(opened().restored.entries.size() == 10);
}

TEST_CASE_FIXTURE(Fixture, "Term and vote outlive the segment in which they were written") {
  Wal::Opened log = opened();
  append(log.wal, persist_of(voted, {}));
  append_range(log.wal, 1, 60);
  save_snapshot({60, 1, three_voters});
  compact(log.wal, {60, 1, three_voters});
  CHECK_FALSE(disk.has(segment_name(1)));
  CHECK(opened().restored.hard_state == voted);
}

TEST_CASE_FIXTURE(Fixture,
                  "Compaction leaves the segment before one whose first batch is under way") {
  Wal::Opened log = opened();
  raft::Index index = 1;
  std::vector<Operation> rolls;
  for (;; ++index) {
    rolls = log.wal.append({persist_of({}, {entry_of(index, 1, std::string(100, 'x'))})});
    if (rolls.size() > 2) break;
    perform(rolls);
  }
  save_snapshot({index, 1, three_voters});
  CHECK(log.wal.compact({index, 1, three_voters}).empty());
  perform(rolls);
  append_range(log.wal, index + 1, index + 1);
  CHECK(log.wal.compact({index, 1, three_voters}) ==
        std::vector<Operation>{Operation(Remove{segment_name(1)})});
}

TEST_CASE_FIXTURE(Fixture, "A received snapshot takes the place of the whole log") {
  Wal::Opened log = opened();
  append(log.wal, persist_of(voted, {}));
  append_range(log.wal, 1, 30);
  const raft::SnapshotMark mark{25, 4, three_voters};
  save_snapshot(mark);
  perform(log.wal.replace(mark));
  CHECK(opened().restored == raft::Restored{voted, mark, {}});
  append(log.wal, persist_of({}, {entry_of(26, 5, "after")}));
  CHECK(opened().restored == raft::Restored{voted, mark, {entry_of(26, 5, "after")}});
  compact(log.wal, mark);
  CHECK(opened().restored == raft::Restored{voted, mark, {entry_of(26, 5, "after")}});
  CHECK_FALSE(disk.has(segment_name(1)));
}

TEST_CASE_FIXTURE(Fixture, "A snapshot that is ahead of the log begins it anew") {
  Wal::Opened log = opened();
  append(log.wal, persist_of(voted, {}));
  append_range(log.wal, 1, 10);
  const raft::SnapshotMark mark{25, 4, three_voters};
  save_snapshot(mark);
  Wal::Opened again = opened();
  CHECK(again.restored == raft::Restored{voted, mark, {}});
  CHECK(again.notes.size() == 1);
  append(again.wal, persist_of({}, {entry_of(26, 5, "after")}));
  const Wal::Opened third = opened();
  CHECK(third.restored == raft::Restored{voted, mark, {entry_of(26, 5, "after")}});
  CHECK(third.notes.empty());
}

TEST_CASE_FIXTURE(Fixture,
                  "A snapshot whose last entry the log has with another term begins it anew") {
  Wal::Opened log = opened();
  append_range(log.wal, 1, 10);
  const raft::SnapshotMark mark{8, 4, three_voters};
  save_snapshot(mark);
  CHECK(opened().restored == raft::Restored{{4, {}}, mark, {}});
}

TEST_CASE_FIXTURE(Fixture, "A snapshot within the log keeps what comes after it") {
  Wal::Opened log = opened();
  append_range(log.wal, 1, 10);
  save_snapshot({8, 1, three_voters});
  const raft::Restored restored = opened().restored;
  REQUIRE(restored.entries.size() == 2);
  CHECK(restored.entries.front().index == 9);
}

TEST_CASE_FIXTURE(Fixture, "A damaged snapshot is passed over while the log reaches further back") {
  Wal::Opened log = opened();
  append_range(log.wal, 1, 10);
  save_snapshot({5, 1, three_voters});
  save_snapshot({8, 1, three_voters});
  disk.put(snapshot_name({8, 1, {}}), "rubbish");
  Wal::Opened again = opened();
  CHECK(again.snapshot_name == snapshot_name({5, 1, {}}));
  CHECK(again.restored.entries.size() == 5);
  REQUIRE(again.notes.size() == 1);
  CHECK(again.notes[0].find(snapshot_name({8, 1, {}}) + " is damaged at offset") !=
        std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "A damaged snapshot is refused when the log was compacted") {
  Wal::Opened log = opened();
  append_range(log.wal, 1, 60);
  const raft::SnapshotMark mark{50, 1, three_voters};
  save_snapshot(mark);
  compact(log.wal, mark);
  std::string bytes = disk.bytes(snapshot_name(mark));
  bytes[bytes.size() / 2] ^= 1;
  disk.put(snapshot_name(mark), bytes);
  const std::string words = refusal();
  CHECK(words.find("no whole snapshot") != std::string::npos);
  CHECK(words.find(snapshot_name(mark) + " is damaged at offset") != std::string::npos);
  CHECK(words.find("The way out") == words.rfind("The way out"));
  disk.drop(snapshot_name(mark));
  CHECK(refusal().find("no whole snapshot") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture,
                  "Snapshots without segments, and a log that must be there, are refused") {
  CHECK(refusal({.segment_bytes = 2048, .must_exist = true}).find("no segment") !=
        std::string::npos);
  save_snapshot({5, 1, three_voters});
  CHECK(refusal().find("are missing") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "A missing segment is noticed wherever it was") {
  Wal::Opened log = opened();
  append_range(log.wal, 1, 60);
  REQUIRE(disk.has(segment_name(4)));
  const MemoryDisk whole = disk;
  disk.drop(segment_name(1));
  CHECK(refusal().find("no whole snapshot") != std::string::npos);
  disk = whole;
  disk.drop(segment_name(2));
  CHECK(refusal().find(segment_name(2) + " is missing") != std::string::npos);
  disk = whole;
  std::uint64_t newest = 4;
  while (disk.has(segment_name(newest + 1))) ++newest;
  disk.drop(segment_name(newest));
  const std::string words = refusal();
  CHECK(words.starts_with(segment_name(newest - 1) + " is damaged at offset "));
  CHECK(words.find(segment_name(newest) + ", which is missing") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "A segment under another's name is refused") {
  Wal::Opened log = opened();
  append_range(log.wal, 1, 60);
  disk.put(segment_name(2), disk.bytes(segment_name(3)));
  CHECK(refusal().find("under another name") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "A term that goes back, or a vote that changes, is refused") {
  Wal::Opened log = opened();
  append(log.wal, persist_of(voted, {}));
  const MemoryDisk whole = disk;
  const Wal wal = log.wal;
  append(log.wal, persist_of(raft::HardState{4, {}}, {}));
  CHECK(refusal().find("cannot follow term 5") != std::string::npos);
  for (const raft::NodeId other : {raft::NodeId{3}, raft::NodeId{0}}) {
    disk = whole;
    Wal again = wal;
    append(again, persist_of(raft::HardState{5, other}, {}));
    CHECK(refusal().find("cannot follow term 5 with a vote for 2") != std::string::npos);
  }
}

TEST_CASE_FIXTURE(Fixture,
                  "A failed operation of a start is told, and the next start finds the log") {
  Wal::Opened log = opened();
  append_range(log.wal, 1, 5);
  disk.before = [](const Operation& operation) -> Status {
    if (std::holds_alternative<Sync>(operation)) return Error{Code::io, "sync: disk gone"};
    return success();
  };
  const Result<Wal::Opened> failed = open();
  REQUIRE_FALSE(failed.ok());
  CHECK(failed.error() == Error{Code::io, "sync: disk gone"});
  disk.before = nullptr;
  CHECK(opened().restored.entries.size() == 5);
}

}  // namespace gpl::store
