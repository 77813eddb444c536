#include "gpl/peer/snapshots.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gpl/store/snapshot_file.h"
#include "member.h"

namespace gpl::peer::test {
namespace {

const raft::SnapshotMark mark{10, 2, three_voters};
const std::string mark_name = store::snapshot_name(mark);

ClusterState some_state() {
  ClusterState state;
  for (std::uint64_t number = 1; number <= 5; ++number) state.apply(submit(number, 100));
  return state;
}

/// The snapshots of one node, and what they tell.
struct Store {
  struct Piece {
    raft::SnapshotRead read;
    std::string data;
    std::uint64_t total_bytes = 0;
  };

  MemoryDisk disk;
  HandCommitter committer{disk};
  std::vector<raft::SnapshotMark> saved;
  std::vector<Piece> pieces;
  std::vector<raft::SnapshotMark> received;
  std::vector<ClusterState> states;  // of those received
  std::vector<raft::SnapshotMark> refused;
  std::vector<std::string> notes;
  Snapshots snapshots{
      disk,
      committer,
      {.saved = [this](const raft::SnapshotMark& m) { saved.push_back(m); },
       .piece =
           [this](const raft::SnapshotRead& read, std::string data, std::uint64_t total_bytes) {
             pieces.push_back({read, std::move(data), total_bytes});
           },
       .received =
           [this](const raft::SnapshotMark& m, ClusterState state) {
             received.push_back(m);
             states.push_back(std::move(state));
           },
       .refused = [this](const raft::SnapshotMark& m) { refused.push_back(m); },
       .note = [this](std::string note) { notes.push_back(std::move(note)); }}};

  void take(const ClusterState& state, const raft::SnapshotMark& at = mark) {
    snapshots.take(at, state.freeze());
    committer.run_all();
  }
  /// What a leader would send of it, in pieces of so many bytes.
  std::vector<raft::SnapshotWrite> sent(std::size_t piece_bytes) {
    std::vector<raft::SnapshotWrite> all;
    do {
      const std::uint64_t offset = all.empty() ? 0 : all.back().offset + all.back().data.size();
      pieces.clear();
      snapshots.read({two, mark, offset, piece_bytes});
      committer.run_all();
      REQUIRE(pieces.size() == 1);
      const std::string& data = pieces[0].data;
      REQUIRE_FALSE(data.empty());
      all.push_back({mark, offset, data, offset + data.size() >= pieces[0].total_bytes});
    } while (!all.back().last);
    return all;
  }
  void write(const std::vector<raft::SnapshotWrite>& all) {
    for (const auto& piece : all) snapshots.write(piece);
    committer.run_all();
  }
  bool has(const std::string& name) const { return disk.has(name); }
};

/// The pieces of a good snapshot.
std::vector<raft::SnapshotWrite> good_pieces(std::size_t piece_bytes = 200) {
  Store store;
  store.take(some_state());
  return store.sent(piece_bytes);
}

/// One attempt that is refused, with a note that tells why, and leaves nothing under the name.
void check_refused(const Store& store, const std::string& why) {
  CHECK(store.refused == std::vector{mark});
  CHECK(store.received.empty());
  REQUIRE(store.notes.size() == 1);
  CAPTURE(store.notes[0]);
  CHECK(store.notes[0].find(why) != std::string::npos);
  CHECK_FALSE(store.has(mark_name));
}

void check_received(const Store& store) {
  CHECK(store.received == std::vector{mark});
  REQUIRE(store.states.size() == 1);
  CHECK(store.states[0].digest() == some_state().digest());
  CHECK(store.has(mark_name));
}

}  // namespace

TEST_CASE("a snapshot that is taken, read in pieces, written and adopted is the same state") {
  Store leader;
  leader.take(some_state());
  CHECK(leader.saved == std::vector{mark});
  const auto pieces = leader.sent(100);
  REQUIRE(pieces.size() > 3);

  Store follower;
  follower.write(pieces);
  check_received(follower);
  CHECK(follower.refused.empty());
  CHECK(follower.notes.empty());
  CHECK(follower.disk.bytes(mark_name) == leader.disk.bytes(mark_name));
  CHECK_FALSE(follower.has(std::string(store::incoming_name)));
  const auto loaded = Snapshots::load(follower.disk, mark_name);
  REQUIRE(loaded.ok());
  CHECK(loaded.value().mark == mark);
  CHECK(loaded.value().state.digest() == some_state().digest());
}

TEST_CASE("a snapshot is of the moment at which the state was frozen") {
  Store store;
  ClusterState state = some_state();
  const std::uint64_t digest = state.digest();
  store.snapshots.take(mark, state.freeze());
  CHECK(store.snapshots.taking());
  REQUIRE(store.committer.step(background));
  state.apply(submit(99));
  store.committer.run_all();
  CHECK_FALSE(store.snapshots.taking());
  const auto loaded = Snapshots::load(store.disk, mark_name);
  REQUIRE(loaded.ok());
  CHECK(loaded.value().state.digest() == digest);
}

TEST_CASE("nothing is told of a snapshot before the work is done") {
  Store store;
  for (const auto& piece : good_pieces()) store.snapshots.write(piece);
  store.snapshots.read({two, mark, 0, 10});
  CHECK(store.committer.performed().empty());
  CHECK(store.received.empty());
  CHECK(store.pieces.empty());
}

TEST_CASE("a piece of a snapshot that is not there is told as empty, with a note") {
  Store store;
  const raft::SnapshotRead read{two, mark, 0, 100};
  store.snapshots.read(read);
  store.committer.run_all();
  REQUIRE(store.pieces.size() == 1);
  CHECK(store.pieces[0].read == read);
  CHECK(store.pieces[0].data.empty());
  CHECK(store.pieces[0].total_bytes == 0);
  REQUIRE(store.notes.size() == 1);
  CHECK(store.notes[0].find(mark_name) != std::string::npos);
}

TEST_CASE("a damaged piece is refused with a note, and the next attempt succeeds") {
  const auto pieces = good_pieces();
  for (const std::size_t at : {std::size_t{0}, pieces.size() / 2, pieces.size() - 1}) {
    CAPTURE(at);
    Store store;
    auto damaged = pieces;
    damaged[at].data[damaged[at].data.size() / 2] ^= 1;
    store.write(damaged);
    check_refused(store, std::string(store::incoming_name));
    store.write(pieces);
    check_received(store);
  }
}

TEST_CASE("a snapshot that ends too early is refused") {
  Store store;
  auto pieces = good_pieces();
  pieces.pop_back();
  pieces.back().last = true;
  store.write(pieces);
  check_refused(store, std::string(store::incoming_name));
}

TEST_CASE("a snapshot whose own mark is not the one that was announced is refused") {
  for (const raft::SnapshotMark& announced :
       {raft::SnapshotMark{12, 2, three_voters}, raft::SnapshotMark{10, 3, three_voters},
        raft::SnapshotMark{10, 2, lone_voter}}) {
    Store store;
    auto pieces = good_pieces();
    for (auto& piece : pieces) piece.mark = announced;
    store.write(pieces);
    CHECK(store.refused == std::vector{announced});
    CHECK(store.received.empty());
    REQUIRE(store.notes.size() == 1);
    CHECK(store.notes[0].find("snapshot of entry 10 and not of " +
                              std::to_string(announced.index)) != std::string::npos);
    CHECK_FALSE(store.has(store::snapshot_name(announced)));
    CHECK_FALSE(store.has(mark_name));
  }
}

TEST_CASE("a piece for which the disk is full is refused, and the next attempt succeeds") {
  Store store;
  const auto pieces = good_pieces();
  store.disk.before = [](const store::Operation& operation) -> Status {
    if (!std::holds_alternative<store::Write>(operation)) return success();
    return Error{Code::io, "No space left on device"};
  };
  store.write({pieces[0]});
  check_refused(store, "No space left on device");
  store.disk.before = nullptr;
  store.write(pieces);
  check_received(store);
}

TEST_CASE("a snapshot that cannot be given its name is refused, and the next attempt succeeds") {
  Store store;
  const auto pieces = good_pieces();
  store.disk.before = [](const store::Operation& operation) -> Status {
    if (!std::holds_alternative<store::Sync>(operation)) return success();
    return Error{Code::io, "Input/output error"};
  };
  store.write(pieces);
  check_refused(store, "Input/output error");
  store.disk.before = nullptr;
  store.write(pieces);
  check_received(store);
}

TEST_CASE("a snapshot file whose parts are no state is told with its name") {
  for (const std::vector<std::string>& parts :
       {std::vector<std::string>{"no part"}, std::vector<std::string>{}}) {
    MemoryDisk disk;
    HandCommitter committer(disk);
    auto source = [&parts, next = std::size_t{0}]() mutable -> std::optional<std::string> {
      if (next == parts.size()) return std::nullopt;
      return parts[next++];
    };
    committer.submit(background, store::write_snapshot(mark, source), [](const Status&) {});
    committer.run_all();
    const auto loaded = Snapshots::load(disk, mark_name);
    REQUIRE_FALSE(loaded.ok());
    CAPTURE(loaded.error().message);
    CHECK(loaded.error().message.find(mark_name) != std::string::npos);
  }
}

TEST_CASE("a snapshot for which the disk is full leaves a note, and the next one is taken") {
  Store store;
  store.disk.before = [](const store::Operation& operation) -> Status {
    if (!std::holds_alternative<store::Write>(operation)) return success();
    return Error{Code::io, "No space left on device"};
  };
  store.take(some_state());
  CHECK(store.saved.empty());
  CHECK_FALSE(store.snapshots.taking());
  REQUIRE(store.notes.size() == 1);
  CHECK(store.notes[0].find("No space left on device") != std::string::npos);
  CHECK_FALSE(store.has(mark_name));

  store.disk.before = nullptr;
  store.take(some_state());
  CHECK(store.saved == std::vector{mark});
  CHECK(Snapshots::load(store.disk, mark_name).ok());
}

}  // namespace gpl::peer::test
