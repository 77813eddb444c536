#include "gpl/peer/commit_queue.h"

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gpl/store/snapshot_file.h"
#include "hand_committer.h"
#include "store/memory_disk.h"

namespace gpl::peer::test {
namespace {

const raft::Configuration alone{{raft::NodeId{1}}, {}};

raft::Persist persist(std::uint64_t sequence, raft::Index index, std::size_t bytes = 10) {
  return {sequence,
          raft::HardState{1, {}},
          {{index, 1, raft::EntryKind::command, std::string(bytes, 'x')}}};
}
raft::Message message(raft::Index match) {
  return {raft::NodeId{1}, raft::NodeId{2}, 1, raft::AppendReply{.accepted = true, .match = match}};
}

/// A queue over a new log, and in words what it tells.
struct Scene {
  MemoryDisk disk;
  HandCommitter committer{disk};
  store::Wal wal = open().wal;
  std::vector<std::string> told;
  std::function<void(std::uint64_t)> on_synced;
  CommitQueue queue{
      wal,
      committer,
      {.send =
           [this](const raft::Message& m) {
             told.push_back("send " + std::to_string(std::get<raft::AppendReply>(m.body).match));
           },
       .synced =
           [this](std::uint64_t sequence) {
             told.push_back("synced " + std::to_string(sequence));
             if (on_synced) on_synced(sequence);
           },
       .replaced =
           [this](const raft::SnapshotMark& mark) {
             told.push_back("replaced " + std::to_string(mark.index));
           },
       .failed = [this](const Error& error) { told.push_back("failed " + error.message); }}};

  store::Wal::Opened open() {
    auto opened = store::Wal::open(disk, alone, {.segment_bytes = 4096});
    REQUIRE(opened.ok());
    return std::move(opened).value();
  }
  void add(std::optional<raft::Persist> what, std::vector<raft::Message> then_send = {}) {
    queue.add(std::move(what), std::move(then_send));
    queue.pump();
  }
  std::size_t syncs() const { return committer.count<store::Sync>(); }
};

using Words = std::vector<std::string>;

/// Fails the next operation of a kind.
template <class Kind>
void fail_next(MemoryDisk& disk) {
  disk.before = [&disk](const store::Operation& operation) -> Status {
    if (!std::holds_alternative<Kind>(operation)) return success();
    disk.before = nullptr;
    return Error{Code::io, "No space left on device"};
  };
}

}  // namespace

TEST_CASE("what arrives while a batch is on its way goes with the next one in one sync") {
  Scene scene;
  scene.add(persist(1, 1));
  scene.add(persist(2, 2));
  scene.add(persist(3, 3));
  CHECK(scene.committer.waiting(log_lane) == 1);
  CHECK(scene.queue.batches() == 1);

  scene.committer.run_one(log_lane);
  CHECK(scene.told == Words{"synced 1"});
  CHECK(scene.syncs() == 1);
  CHECK(scene.queue.batches() == 2);
  CHECK_FALSE(scene.queue.idle());

  scene.committer.run(log_lane);
  CHECK(scene.told == Words{"synced 1", "synced 2", "synced 3"});
  CHECK(scene.syncs() == 2);
  CHECK(scene.queue.batches() == 2);
  CHECK(scene.queue.idle());
  CHECK(scene.open().restored.entries.size() == 3);
}

TEST_CASE("messages that rest on a persist wait for exactly its sync and keep their order") {
  Scene scene;
  scene.add(persist(1, 1), {message(1), message(11)});
  scene.add(persist(2, 2), {message(2)});
  scene.add(persist(3, 3), {message(3)});
  CHECK(scene.told.empty());
  REQUIRE(scene.committer.step(log_lane));
  REQUIRE(std::holds_alternative<store::Write>(scene.committer.performed().back()));
  CHECK(scene.told.empty());

  scene.committer.run_one(log_lane);
  CHECK(scene.told == Words{"synced 1", "send 1", "send 11"});
  REQUIRE(scene.committer.step(log_lane));
  CHECK(scene.told.size() == 3);
  scene.committer.run(log_lane);
  CHECK(scene.told ==
        Words{"synced 1", "send 1", "send 11", "synced 2", "send 2", "synced 3", "send 3"});
}

TEST_CASE("a message without a persist goes at once when nothing is on its way") {
  Scene scene;
  scene.queue.add(std::nullopt, {message(1), message(2)});
  CHECK(scene.told == Words{"send 1", "send 2"});
  CHECK(scene.queue.idle());
  scene.queue.pump();
  CHECK(scene.committer.idle());
}

TEST_CASE("a message without a persist waits for what was added before it, and for no more") {
  Scene scene;
  scene.add(persist(1, 1));
  scene.add(std::nullopt, {message(1)});
  scene.add(persist(2, 2), {message(2)});
  CHECK(scene.told.empty());
  scene.committer.run_one(log_lane);
  CHECK(scene.told == Words{"synced 1", "send 1"});
  CHECK(scene.committer.waiting(log_lane) == 1);
}

TEST_CASE("a message without a persist costs no sync of its own") {
  Scene scene;
  scene.add(persist(1, 1));
  scene.add(std::nullopt, {message(1)});
  scene.committer.run(log_lane);
  CHECK(scene.told == Words{"synced 1", "send 1"});
  CHECK(scene.syncs() == 1);
  CHECK(scene.queue.idle());
}

TEST_CASE("an installed snapshot that takes the log's place is a batch of its own") {
  Scene scene;
  const raft::SnapshotMark mark{10, 1, alone};
  bool has_part = true;
  auto source = store::write_snapshot(mark, [&has_part]() -> std::optional<std::string> {
    return std::exchange(has_part, false) ? std::optional<std::string>("state") : std::nullopt;
  });
  scene.committer.submit(background, std::move(source), [](const Status&) {});
  scene.committer.run(background);

  scene.add(persist(1, 1));
  scene.add(persist(2, 2));
  scene.queue.replace(mark);
  scene.queue.pump();
  scene.add(persist(3, 11), {message(11)});
  scene.committer.run_one(log_lane);
  CHECK(scene.told == Words{"synced 1"});
  scene.committer.run_one(log_lane);
  CHECK(scene.told == Words{"synced 1", "synced 2"});
  scene.committer.run_one(log_lane);
  CHECK(scene.told == Words{"synced 1", "synced 2", "replaced 10"});
  scene.committer.run_one(log_lane);
  CHECK(scene.told == Words{"synced 1", "synced 2", "replaced 10", "synced 3", "send 11"});

  const auto restored = scene.open().restored;
  CHECK(restored.snapshot == mark);
  CHECK(restored.entries == persist(3, 11).entries);
}

TEST_CASE("after a failed sync nothing more is told or written") {
  Scene scene;
  fail_next<store::Sync>(scene.disk);
  scene.add(persist(1, 1), {message(1)});
  scene.add(persist(2, 2), {message(2)});
  scene.committer.run(log_lane);
  CHECK(scene.told == Words{"failed No space left on device"});

  scene.add(persist(3, 3), {message(3)});
  scene.add(std::nullopt, {message(4)});
  scene.queue.replace({10, 1, alone});
  scene.queue.pump();
  CHECK(scene.committer.waiting(log_lane) == 0);
  scene.committer.run_all();
  CHECK(scene.told.size() == 1);
  CHECK_FALSE(scene.queue.idle());
}

TEST_CASE("a replacement that fails is a failure of the log") {
  Scene scene;
  scene.queue.replace({10, 1, alone});
  scene.queue.pump();
  fail_next<store::Rename>(scene.disk);
  scene.committer.run(log_lane);
  CHECK(scene.told == Words{"failed No space left on device"});
}

TEST_CASE(
    "a segment that cannot be made ahead is no failure, and asked for again with the next one") {
  Scene scene;
  fail_next<store::Create>(scene.disk);
  scene.add(persist(1, 1));
  REQUIRE(scene.committer.waiting(background) == 1);
  scene.committer.run_all();
  CHECK(scene.told == Words{"synced 1"});
  REQUIRE(scene.committer.count<store::Create>() == 1);

  scene.add(persist(2, 2));
  CHECK(scene.committer.waiting(background) == 0);
  scene.committer.run_all();
  scene.add(persist(3, 3, 6000));
  CHECK(scene.committer.waiting(background) == 1);
  scene.committer.run_all();
  CHECK(scene.told == Words{"synced 1", "synced 2", "synced 3"});
}

TEST_CASE("a log that is ahead of its preparation makes the segment that it needs") {
  Scene scene;
  scene.add(persist(1, 1));
  scene.add(persist(2, 2, 6000), {message(2)});
  scene.committer.run(log_lane);
  CHECK(scene.told == Words{"synced 1", "synced 2", "send 2"});
  CHECK(scene.committer.waiting(background) == 1);
  CHECK(scene.open().restored.entries.size() == 2);
}

TEST_CASE("what is added while a batch is told goes with the next, after all of this one") {
  Scene scene;
  scene.on_synced = [&scene](std::uint64_t sequence) {
    if (sequence < 3) scene.add(persist(sequence + 10, sequence + 2), {message(sequence + 10)});
  };
  scene.queue.add(persist(1, 1), {message(1)});
  scene.queue.add(persist(2, 2), {message(2)});
  scene.queue.pump();
  scene.committer.run_one(log_lane);
  CHECK(scene.told == Words{"synced 1", "send 1", "synced 2", "send 2"});
  CHECK(scene.queue.batches() == 2);
  scene.committer.run(log_lane);
  CHECK(scene.told == Words{"synced 1", "send 1", "synced 2", "send 2", "synced 11", "send 11",
                            "synced 12", "send 12"});
  CHECK(scene.queue.batches() == 2);
}

}  // namespace gpl::peer::test
