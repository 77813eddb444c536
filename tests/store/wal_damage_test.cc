// A small real log with every byte flipped, cut at every length, and its last batch torn in every
// way.

#include <doctest/doctest.h>

#include <bit>

#include "effort.h"
#include "gpl/store/segment.h"
#include "gpl/store/wal.h"
#include "log_model.h"
#include "memory_disk.h"

namespace gpl::store {
namespace {

constexpr WalOptions small{.segment_bytes = 1536};
const raft::SnapshotMark bootstrap{0, 0, three_voters};

/// A log, and what it must say after each of its batches.
struct SmallLog {
  MemoryDisk disk;
  std::vector<raft::Restored> states;
  std::uint64_t last_batch_begin = 0;  // in the last segment
  std::uint64_t last_batch_end = 0;
  std::string last_segment;
};

void add_batch(SmallLog& log, Wal& wal, LogModel& model,
               const std::vector<raft::Persist>& persists) {
  const std::vector<Operation> operations = wal.append(persists);
  REQUIRE(perform_all(log.disk, operations).ok());
  const Write& write = std::get<Write>(operations[operations.size() - 2]);
  log.last_segment = write.name;
  log.last_batch_begin = write.offset;
  log.last_batch_end = write.offset + write.bytes.size();
  for (const raft::Persist& persist : persists) model.apply(persist);
  log.states.push_back(model.restored(bootstrap));
}

/// Two segments, batches of one and of several records, a vote, a suffix that was replaced.
SmallLog small_log() {
  SmallLog log;
  Wal wal = Wal::open(log.disk, three_voters, small).value().wal;
  LogModel model;
  add_batch(log, wal, model, {persist_of(raft::HardState{1, raft::NodeId{1}}, {})});
  add_batch(log, wal, model,
            {persist_of({}, {{1, 1, raft::EntryKind::noop, ""}, entry_of(2, 1, "b")}),
             persist_of({}, {entry_of(3, 1, std::string(300, 'c'))})});
  add_batch(log, wal, model,
            {persist_of(raft::HardState{2, {}}, {entry_of(3, 2, "other"), entry_of(4, 2, "e")})});
  add_batch(log, wal, model, {persist_of({}, {entry_of(5, 2, std::string(600, 'f'))})});
  add_batch(
      log, wal, model,
      {persist_of(raft::HardState{3, raft::NodeId{2}}, {entry_of(6, 2, std::string(200, 'g'))})});
  add_batch(log, wal, model, {persist_of({}, {entry_of(6, 3, "h"), entry_of(7, 3, "i")})});
  REQUIRE(log.last_segment == segment_name(2));
  return log;
}

/// Opens the log, which must then say `expected`, now and after one more batch and two more starts.
void check_goes_on(MemoryDisk disk, const raft::Restored& expected) {
  Result<Wal::Opened> opened = Wal::open(disk, {}, small);
  if (!opened) FAIL(opened.error().message);
  REQUIRE(opened.value().restored == expected);
  LogModel model;
  model.apply(persist_of(expected.hard_state, expected.entries));
  const raft::Persist more = persist_of(raft::HardState{99, raft::NodeId{1}},
                                        {entry_of(model.last_index() + 1, 99, "more")});
  model.apply(more);
  REQUIRE(perform_all(disk, opened.value().wal.append({more})).ok());
  disk.lose_power([](const std::string&, std::uint64_t) { return false; });
  for (int start = 0; start < 2; ++start) {
    Result<Wal::Opened> again = Wal::open(disk, {}, small);
    if (!again) FAIL(again.error().message);
    REQUIRE(again.value().restored == model.restored(bootstrap));
  }
}

void check_refused(const MemoryDisk& disk, const std::string& file) {
  MemoryDisk copy = disk;
  const Result<Wal::Opened> opened = Wal::open(copy, {}, small);
  REQUIRE_FALSE(opened.ok());
  REQUIRE(opened.error().code == Code::invalid);
  REQUIRE(opened.error().message.starts_with(file + " is damaged at offset "));
  REQUIRE(opened.error().message.find("The way out: ") != std::string::npos);
  REQUIRE(copy == disk);
}

/// What is behind the end of a segment that another follows is void.
std::uint64_t end_of_first(const SmallLog& log) {
  return decode_segment_header("", log.disk.bytes(segment_name(2))).value().previous_end;
}

}  // namespace

TEST_CASE("A flip of any bit but of the last batch is refused, or changes nothing") {
  const SmallLog log = small_log();
  for (std::uint64_t number = 1; number <= 2; ++number) {
    const std::string name = segment_name(number);
    const std::uint64_t end = number == 1 ? end_of_first(log) : log.last_batch_end;
    for (std::uint64_t bit = 0; bit < log.disk.bytes(name).size() * 8; ++bit) {
      // Of every byte two bits, or all of them.
      if (const auto of = bit / 8; effort() == 1 && bit % 8 != of % 8 && bit % 8 != (of + 3) % 8)
        continue;
      CAPTURE(name);
      CAPTURE(bit / 8);
      std::string bytes = log.disk.bytes(name);
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
      MemoryDisk disk = log.disk;
      disk.put(name, bytes);
      if (bit / 8 >= end) {
        check_goes_on(disk, log.states.back());
      } else if (number == 2 && bit / 8 >= log.last_batch_begin) {
        check_goes_on(disk, log.states[log.states.size() - 2]);  // taken for a tear
      } else {
        check_refused(disk, name);
      }
    }
  }
}

TEST_CASE("A byte of any other value is refused, or changes nothing") {
  const SmallLog log = small_log();
  const std::string name = segment_name(2);
  for (std::uint64_t at = 0; at < log.last_batch_begin; ++at) {
    for (const unsigned value : {0x00u, 0x01u, 0x7fu, 0x80u, 0xffu}) {
      std::string bytes = log.disk.bytes(name);
      if (bytes[at] == static_cast<char>(value)) continue;
      bytes[at] = static_cast<char>(value);
      MemoryDisk disk = log.disk;
      disk.put(name, bytes);
      check_refused(disk, name);
    }
  }
}

TEST_CASE("A segment that was cut to any length is refused") {
  const SmallLog log = small_log();
  for (std::uint64_t number = 1; number <= 2; ++number) {
    const std::string name = segment_name(number);
    for (std::size_t length = 0; length < log.disk.bytes(name).size(); ++length) {
      MemoryDisk disk = log.disk;
      disk.put(name, log.disk.bytes(name).substr(0, length));
      check_refused(disk, name);
    }
    MemoryDisk disk = log.disk;
    disk.put(name, log.disk.bytes(name) + std::string(512, '\0'));
    check_refused(disk, name);
  }
}

TEST_CASE("A log whose newest batches are zeros from any byte on is one of its earlier states") {
  // A tear that no disk makes, and a person with dd might: never a wrong state.
  const SmallLog log = small_log();
  const std::string name = segment_name(2);
  for (std::size_t from = 0; from < log.last_batch_end; ++from) {
    std::string bytes = log.disk.bytes(name);
    bytes.replace(from, bytes.size() - from, bytes.size() - from, '\0');
    MemoryDisk disk = log.disk;
    disk.put(name, bytes);
    const Result<Wal::Opened> opened = Wal::open(disk, {}, small);
    if (!opened) continue;
    CHECK(std::find(log.states.begin(), log.states.end(), opened.value().restored) !=
          log.states.end());
    if (from >= log.last_batch_begin) {
      CHECK(opened.value().restored == log.states[log.states.size() - 2]);
    }
  }
}

TEST_CASE("Any subset of the sectors of an unsynced batch leaves the batch or nothing of it") {
  constexpr WalOptions roomy{.segment_bytes = 8192};
  MemoryDisk disk;
  Wal wal = Wal::open(disk, three_voters, roomy).value().wal;
  LogModel model;
  const raft::Persist first =
      persist_of(raft::HardState{4, raft::NodeId{1}}, {entry_of(1, 4, "a")});
  model.apply(first);
  REQUIRE(perform_all(disk, wal.append({first})).ok());
  const raft::Restored before = model.restored(bootstrap);

  std::vector<raft::Persist> batch;
  for (raft::Index index = 2; index < 12; ++index) {
    batch.push_back(persist_of(raft::HardState{3 + index, raft::NodeId{index}},
                               {entry_of(index, 4, std::string(20 * index, 'z'))}));
    model.apply(batch.back());
  }
  const raft::Restored after = model.restored(bootstrap);
  const std::vector<Operation> operations = wal.append(batch);
  REQUIRE(operations.size() == 2);
  REQUIRE(disk.perform(operations[0]).ok());
  const std::string name = segment_name(1);
  const std::vector<std::uint64_t> sectors = disk.unsynced(name);
  REQUIRE(sectors.size() >= 5);
  for (std::uint64_t subset = 0; subset < (std::uint64_t{1} << sectors.size()); ++subset) {
    CAPTURE(subset);
    MemoryDisk crashed = disk;
    crashed.lose_power([&](const std::string&, std::uint64_t sector) {
      return (subset >> (sector - sectors.front()) & 1) != 0;
    });
    const bool whole = static_cast<std::size_t>(std::popcount(subset)) == sectors.size();
    check_goes_on(crashed, whole ? after : before);
  }
}

TEST_CASE("Records of a batch that was cut do not come back when the next one is torn too") {
  constexpr WalOptions roomy{.segment_bytes = 8192};
  MemoryDisk disk;
  Wal wal = Wal::open(disk, three_voters, roomy).value().wal;
  REQUIRE(perform_all(disk, wal.append({persist_of(raft::HardState{1, {}}, {entry_of(1, 1, "a")})}))
              .ok());
  // Two batches of one layout: what is left of both together would be one whole batch.
  std::vector<raft::Entry> torn;
  std::vector<raft::Entry> torn_again;
  for (raft::Index index = 2; index < 40; ++index) {
    torn.push_back(entry_of(index, 1, "old"));
    torn_again.push_back(entry_of(index, 1, "new"));
  }
  REQUIRE(disk.perform(wal.append({persist_of({}, torn)})[0]).ok());
  const std::uint64_t first = disk.unsynced(segment_name(1)).front();
  disk.lose_power([&](const std::string&, std::uint64_t sector) { return sector != first; });

  Wal::Opened cut = Wal::open(disk, {}, roomy).value();
  CHECK(cut.restored.entries.size() == 1);
  REQUIRE(cut.notes.size() == 1);
  CHECK(cut.notes[0].starts_with(segment_name(1) + ": a torn tail, cut at offset "));
  const SegmentHeader sealed = decode_segment_header("", disk.bytes(segment_name(2))).value();
  CHECK(sealed.generation == 2);
  CHECK(disk.unsynced(segment_name(2)).empty());
  const Operation write = cut.wal.append({persist_of({}, torn_again)})[0];
  REQUIRE(disk.perform(write).ok());
  const std::uint64_t first_again = std::get<Write>(write).offset / MemoryDisk::sector_bytes;
  disk.lose_power([&](const std::string&, std::uint64_t sector) { return sector == first_again; });
  CHECK(Wal::open(disk, {}, roomy).value().restored.entries ==
        std::vector<raft::Entry>{entry_of(1, 1, "a")});
}

TEST_CASE("A payload that is a copy of the log, or a record to come, confuses nobody") {
  SmallLog log = small_log();
  Wal wal = Wal::open(log.disk, {}, small).value().wal;
  const std::string copy = log.disk.bytes(segment_name(2)).substr(0, log.last_batch_end);
  const std::vector<Operation> operations =
      wal.append({persist_of({}, {entry_of(8, 3, copy), entry_of(9, 3, copy)})});
  REQUIRE(perform_all(log.disk, {operations.begin(), operations.end() - 1}).ok());
  const std::string name = std::get<Write>(operations[operations.size() - 2]).name;
  // Torn in each of its sectors: a tear, whatever the payload looks like.
  for (const std::uint64_t lost : log.disk.unsynced(name)) {
    MemoryDisk disk = log.disk;
    disk.lose_power([&](const std::string&, std::uint64_t sector) { return sector != lost; });
    check_goes_on(disk, log.states.back());
  }
}

}  // namespace gpl::store
