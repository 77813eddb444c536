// Logs whose bytes are all right and whose content no peer could start with: written record by
// record.

#include <doctest/doctest.h>

#include "gpl/store/damage.h"
#include "gpl/store/segment.h"
#include "gpl/store/wal.h"
#include "gpl/store/wal_recovery.h"
#include "log_model.h"
#include "memory_disk.h"

namespace gpl::store {
namespace {

const raft::SnapshotMark bootstrap{0, 0, three_voters};

/// A segment whose batches may say anything.
class Writing {
 public:
  explicit Writing(std::uint64_t number = 1, std::uint64_t first_batch = 1,
                   raft::Index next_index = 1, std::uint64_t previous_end = 0)
      : header_{number, 1, 8192, first_batch, next_index, previous_end},
        bytes_(encode(header_)),
        next_batch_(first_batch) {}

  template <class... Records>
  Writing& batch(const Records&... records) {
    BatchWriter writer(1, next_batch_++, bytes_.size());
    (writer.add(records), ...);
    last_ = bytes_.size();
    bytes_ += writer.finish();
    return *this;
  }
  Writing& bootstrapped() { return batch(raft::HardState{}, bootstrap); }

  std::uint64_t last_batch() const { return last_; }
  std::uint64_t end() const { return bytes_.size(); }
  std::uint64_t next_batch() const { return next_batch_; }
  void put(MemoryDisk& disk) const {
    std::string bytes = bytes_;
    bytes.resize(header_.size_bytes, '\0');
    disk.put(segment_name(header_.number), bytes);
  }

 private:
  SegmentHeader header_;
  std::string bytes_;
  std::uint64_t next_batch_;
  std::uint64_t last_ = 0;
};

std::optional<Error> error_of(MemoryDisk& disk) {
  const Result<Recovered> found = recover(disk, disk.list().value(), {});
  if (found) return std::nullopt;
  return found.error();
}

/// Code::invalid, with this place, and these words.
void check_damage(const Writing& log, std::uint64_t offset, const std::string& words) {
  CAPTURE(words);
  MemoryDisk disk;
  log.put(disk);
  const std::optional<Error> error = error_of(disk);
  REQUIRE(error.has_value());
  CHECK(error->code == Code::invalid);
  CHECK(place_of(*error) == Place{segment_name(1), offset});
  CHECK(error->message.find(words) != std::string::npos);
}

raft::Entry configuration_of(raft::Index index, std::string data) {
  return {index, 1, raft::EntryKind::configuration, std::move(data)};
}

}  // namespace

TEST_CASE("Entries whose terms fall are damage") {
  Writing log;
  log.bootstrapped().batch(raft::HardState{9, {}}, entry_of(1, 9, "a"));
  log.batch(entry_of(2, 1, "b"));
  check_damage(log, log.last_batch(), "entry 2 is of term 1, and the one before it of term 9");
}

TEST_CASE("An entry of a later term than the node's is damage") {
  Writing log;
  log.bootstrapped().batch(raft::HardState{3, {}});
  log.batch(entry_of(1, 4, "a"));
  check_damage(log, log.last_batch(), "entry 1 is of term 4, and the node had got to term 3");
}

TEST_CASE("A configuration entry that is none is damage") {
  Writing log;
  log.bootstrapped().batch(raft::HardState{1, {}});
  log.batch(configuration_of(1, "abc"));
  check_damage(log, log.last_batch(), "entry 1 holds no configuration");
  Writing fine;
  fine.bootstrapped().batch(raft::HardState{1, {}},
                            configuration_of(1, raft::encode(three_voters)));
  MemoryDisk disk;
  fine.put(disk);
  CHECK_FALSE(error_of(disk).has_value());
}

TEST_CASE("An index or a term that cannot be counted on from is damage") {
  constexpr std::uint64_t most = ~std::uint64_t{0};
  Writing log;
  log.bootstrapped().batch(raft::HardState{most, {}});
  check_damage(log, log.last_batch(), "no term gets as far as");
  Writing begun(1, 1, 0);
  begun.batch(raft::HardState{}, raft::SnapshotMark{most, 0, three_voters});
  check_damage(begun, segment_header_bytes + record_bytes(raft::HardState{}),
               "no index gets as far as");
}

TEST_CASE("An entry out of order is damage, and what may stand there is told") {
  Writing log;
  log.bootstrapped().batch(raft::HardState{1, {}});
  log.batch(entry_of(2, 1, "b"));
  check_damage(log, log.last_batch(), "entry 2 cannot stand here: the next one is 1");
}

TEST_CASE("A snapshot of a later term than what follows it in the log is damage") {
  const raft::SnapshotMark mark{9, 8, three_voters};
  Writing log(1, 1, 10);
  log.batch(raft::HardState{3, {}});
  MemoryDisk disk;
  log.put(disk);
  REQUIRE(perform_all(disk, snapshot_operations(mark, {"state"})).ok());
  std::optional<Error> error = error_of(disk);
  REQUIRE(error.has_value());
  CHECK(place_of(*error) == Place{segment_name(1), log.last_batch()});
  CHECK(error->message.find("the node had got to term 3, and the state of entry 9 of term 8") !=
        std::string::npos);

  log.batch(raft::HardState{8, {}});
  log.batch(entry_of(10, 7, "after"));
  log.put(disk);
  error = error_of(disk);
  REQUIRE(error.has_value());
  CHECK(place_of(*error) == Place{segment_name(1), log.last_batch()});
}

TEST_CASE(
    "A snapshot of a later term than the node's that came just before a crash takes the node to "
    "it") {
  const raft::SnapshotMark mark{25, 4, three_voters};
  Writing log;
  log.bootstrapped().batch(raft::HardState{2, raft::NodeId{1}}, entry_of(1, 2, "a"));
  MemoryDisk disk;
  log.put(disk);
  REQUIRE(perform_all(disk, snapshot_operations(mark, {"state"})).ok());
  for (int start = 0; start < 2; ++start) {
    const auto opened = Wal::open(disk, {}, {.segment_bytes = 8192});
    REQUIRE(opened.ok());
    CHECK(opened.value().restored == raft::Restored{{4, {}}, mark, {}});
  }
}

TEST_CASE("A segment that does not begin with term and vote, or counts from elsewhere, is damage") {
  Writing voteless;
  voteless.batch(bootstrap);
  check_damage(voteless, segment_header_bytes, "does not begin with term and vote");

  Writing first;
  first.bootstrapped().batch(raft::HardState{1, {}}, entry_of(1, 1, "a"));
  Writing second(2, first.next_batch(), 9, first.end());
  second.batch(raft::HardState{1, {}});
  MemoryDisk disk;
  first.put(disk);
  second.put(disk);
  const std::optional<Error> error = error_of(disk);
  REQUIRE(error.has_value());
  CHECK(place_of(*error) == Place{segment_name(2), 48});
}

TEST_CASE("A segment of number 0 is damage") {
  Writing zero(0);
  zero.bootstrapped();
  MemoryDisk disk;
  zero.put(disk);
  CHECK(place_of(error_of(disk).value()) == Place{segment_name(0), 16});
}

TEST_CASE("All batches before a segment that cannot be used are handed over, whatever is wrong") {
  Writing first;
  first.bootstrapped().batch(raft::HardState{1, {}}, entry_of(1, 1, "a"));
  first.batch(entry_of(2, 1, "b"));
  Writing second(2, first.next_batch(), 3, first.end());
  second.batch(raft::HardState{1, {}});
  MemoryDisk whole;
  first.put(whole);
  second.put(whole);
  const auto batches_of = [](MemoryDisk& disk, Code code) {
    std::uint64_t batches = 0;
    const auto found = recover(disk, disk.list().value(), [&](const Batch&) {
      ++batches;
      return success();
    });
    REQUIRE_FALSE(found.ok());
    CHECK(found.error().code == code);
    return batches;
  };

  MemoryDisk disk = whole;
  std::string bytes = whole.bytes(segment_name(2));
  bytes[30] ^= 1;
  disk.put(segment_name(2), bytes);
  CHECK(batches_of(disk, Code::invalid) == 3);

  disk = whole;
  disk.drop(segment_name(2));
  Writing(3, 9, 9, 500).batch(raft::HardState{1, {}}).put(disk);
  CHECK(batches_of(disk, Code::invalid) == 3);

  disk = whole;
  disk.put(snapshot_name({2, 1, {}}), std::string("GPL-SNAP\2\0\0\0", 12));
  CHECK(batches_of(disk, Code::unsupported) == 4);
}

namespace {

/// A disk whose file is written on between two reads.
class WrittenDisk : public MemoryDisk {
 public:
  std::function<void(std::uint64_t reads)> after_read;

  Result<std::string> read(std::string_view name, std::uint64_t offset,
                           std::size_t limit_bytes) override {
    Result<std::string> bytes = MemoryDisk::read(name, offset, limit_bytes);
    if (after_read) after_read(++reads_);
    return bytes;
  }

 private:
  std::uint64_t reads_ = 0;
};

}  // namespace

TEST_CASE("A log that is written while it is read is never taken for damaged") {
  // Written at each read in turn: two batches, the later of which shows that the one before was
  // synced.
  for (std::uint64_t when = 1; when < 12; ++when) {
    CAPTURE(when);
    WrittenDisk disk;
    Wal wal = Wal::open(disk, three_voters, {.segment_bytes = 600 * 1024}).value().wal;
    raft::Index index = 1;
    const auto append = [&](std::size_t bytes) {
      const raft::Persist persist =
          persist_of(raft::HardState{1, {}}, {entry_of(index++, 1, std::string(bytes, 'x'))});
      REQUIRE(perform_all(disk, wal.append({persist})).ok());
    };
    append(10);
    disk.after_read = [&](std::uint64_t reads) {
      if (reads < when || reads > when + 2) return;
      for (int i = 0; i < 3; ++i) append(60'000);
    };
    const Result<Recovered> found = recover(disk, disk.list().value(), {});
    if (!found) CHECK(found.error().code == Code::busy);
    if (!found) CHECK(found.error().message.find("look again") != std::string::npos);
  }
}

TEST_CASE("The place of an error is found in it again") {
  CHECK(place_of(damage("wal-1", 77, "x")) == Place{"wal-1", 77});
  CHECK(place_of(too_new("snapshot-1", 8, "version 2")) == Place{"snapshot-1", 8});
  CHECK_FALSE(place_of(damage("something")).has_value());
  CHECK_FALSE(place_of({Code::io, "cannot read wal-1 is damaged at offset 7"}).has_value());
  CHECK(without_way_out(damage("wal-1", 77, "x")) == "wal-1 is damaged at offset 77: x");
}

}  // namespace gpl::store
