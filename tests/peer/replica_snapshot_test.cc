#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gpl/peer/replica.h"
#include "gpl/peer/snapshots.h"
#include "gpl/store/snapshot_file.h"
#include "gpl/wire/codec.h"
#include "trio.h"

namespace gpl::peer::test {
namespace {

ReplicaOptions snapshot_after(std::uint64_t entries, std::uint64_t bytes = 1'000'000) {
  ReplicaOptions options;
  options.snapshot_after_entries = entries;
  options.snapshot_after_bytes = bytes;
  return options;
}

/// Names on the disk that begin so.
std::vector<std::string> names(MemoryDisk& disk, std::string_view prefix) {
  auto all = disk.list().value();
  std::erase_if(all, [&](const std::string& name) { return !name.starts_with(prefix); });
  return all;
}

void propose(Member& leader, std::uint64_t first, std::uint64_t last, std::size_t bytes = 0) {
  for (std::uint64_t number = first; number <= last; ++number)
    leader.propose({submit(number, bytes)});
}

/// The file of a snapshot of a state in which jobs have been submitted.
std::string snapshot_file(const raft::SnapshotMark& mark, std::uint64_t jobs) {
  ClusterState state;
  for (std::uint64_t number = 1; number <= jobs; ++number) state.apply(submit(number));
  const FrozenState frozen = state.freeze();
  MemoryDisk disk;
  HandCommitter committer(disk);
  std::size_t next = 0;
  auto parts = [&]() -> std::optional<std::string> {
    if (next == frozen.part_count()) return std::nullopt;
    return wire::encode(frozen.part(next++));
  };
  committer.submit(background, store::write_snapshot(mark, parts), [](const Status&) {});
  committer.run(background);
  return disk.bytes(store::snapshot_name(mark));
}

}  // namespace

TEST_CASE("a replica that is opened again without a snapshot applies its log anew") {
  LoneVoter voter;
  propose(voter, 1, 12);
  voter.settle();
  const auto digest = voter.state().digest();
  voter.reopen();
  CHECK(voter.replica->applied_index() == 0);
  voter.settle();
  CHECK(voter.state().digest() == digest);
  CHECK(voter.applied.front().index == 1);
  CHECK(voter.node().leads());
  CHECK(voter.notes.empty());
}

TEST_CASE("a replica that is opened again goes on from its snapshot and the log after it") {
  LoneVoter voter(snapshot_after(5));
  propose(voter, 1, 12);
  voter.settle();
  const auto digest = voter.state().digest();
  const auto last = voter.replica->applied_index();
  const auto snapshots = names(voter.disk, "snapshot-");
  REQUIRE(snapshots.size() == 1);
  const auto mark = store::parse_snapshot_name(snapshots[0]);
  REQUIRE(mark);
  // One more than is in it, and less than what would make the next.
  propose(voter, 13, 13);
  voter.settle();
  REQUIRE(names(voter.disk, "snapshot-") == snapshots);
  const auto digest_with_tail = voter.state().digest();
  REQUIRE(digest_with_tail != digest);

  voter.reopen();
  CHECK(voter.replica->applied_index() == mark->index);
  voter.settle();
  CHECK(voter.state().digest() == digest_with_tail);
  CHECK(voter.applied.front().index == mark->index + 1);
  CHECK(voter.replica->applied_index() > last);
  CHECK(voter.has_job(13));
}

TEST_CASE("what was proposed and not synced is gone after a power loss, and nothing else is") {
  LoneVoter voter;
  propose(voter, 1, 3);
  voter.settle();
  const auto digest = voter.state().digest();
  propose(voter, 4, 4);
  REQUIRE(voter.committer->step(log_lane));
  voter.reopen();
  voter.settle();
  CHECK(voter.state().digest() == digest);
  CHECK_FALSE(voter.has_job(4));
}

TEST_CASE("a snapshot is taken by parts in the background, and the log goes on meanwhile") {
  LoneVoter voter(snapshot_after(4));
  std::uint64_t number = 0;
  while (voter.replica->applied_index() < 4) {
    propose(voter, number + 1, number + 1);
    ++number;
    voter.committer->run(log_lane);
  }
  const auto digest = voter.state().digest();
  const raft::SnapshotMark mark{4, voter.node().term(), lone_voter};
  const std::string name = store::snapshot_name(mark);

  while (!voter.disk.has(name)) {
    REQUIRE(voter.committer->step(background));
    // Not so many that another falls due.
    if (number < 6) propose(voter, number + 1, number + 1);
    number = std::min<std::uint64_t>(number + 1, 6);
    voter.committer->run(log_lane);
    CHECK(voter.has_job(number));
  }
  std::size_t writes = 0;
  for (const auto& operation : voter.committer->performed()) {
    const auto* write = std::get_if<store::Write>(&operation);
    if (write != nullptr && write->name == store::saving_name) ++writes;
  }
  CHECK(writes > 3);
  const auto loaded = Snapshots::load(voter.disk, name);
  REQUIRE(loaded.ok());
  CHECK(loaded.value().mark == mark);
  CHECK(loaded.value().state.digest() == digest);
  CHECK(voter.state().digest() != digest);
}

TEST_CASE("a snapshot is taken after so many bytes have been applied") {
  LoneVoter voter(snapshot_after(1000, 5000));
  propose(voter, 1, 2, 2000);
  voter.settle();
  CHECK(names(voter.disk, "snapshot-").empty());
  propose(voter, 3, 3, 2000);
  voter.settle();
  CHECK(names(voter.disk, "snapshot-").size() == 1);
  propose(voter, 4, 5, 2000);
  voter.settle();
  CHECK(names(voter.disk, "snapshot-") ==
        std::vector{store::snapshot_name({4, voter.node().term(), {}})});
}

TEST_CASE("a snapshot that falls due while one is taken follows it, and takes its place") {
  LoneVoter voter(snapshot_after(2));
  for (std::uint64_t number = 1; number <= 9; ++number) {
    propose(voter, number, number);
    voter.committer->run(log_lane);
  }
  voter.settle();
  const auto last = voter.replica->applied_index();
  std::vector<std::string> taken;
  for (const auto& operation : voter.committer->performed()) {
    const auto* rename = std::get_if<store::Rename>(&operation);
    if (rename != nullptr && rename->from == store::saving_name) taken.push_back(rename->to);
  }
  const auto term = voter.node().term();
  CHECK(taken ==
        std::vector{store::snapshot_name({2, term, {}}), store::snapshot_name({last, term, {}})});
  CHECK(names(voter.disk, "snapshot-") == std::vector{taken.back()});
}

TEST_CASE("the log before a snapshot is cut off in memory and on disk") {
  LoneVoter voter(snapshot_after(20));
  for (std::uint64_t number = 1; number <= 18; ++number) {
    propose(voter, number, number, 1000);
    voter.settle();
  }
  const auto segments = names(voter.disk, "wal-").size();
  REQUIRE(segments > 3);
  propose(voter, 19, 20);
  voter.settle();
  CHECK(names(voter.disk, "wal-").size() < 3);
  CHECK(voter.node().first_index() > 15);
  voter.reopen();
  voter.settle();
  CHECK(voter.has_job(1));
  CHECK(voter.has_job(20));
}

TEST_CASE("a snapshot that could not be taken is noted, and a later one succeeds") {
  LoneVoter voter(snapshot_after(5));
  voter.disk.before = [](const store::Operation& operation) -> Status {
    const auto* write = std::get_if<store::Write>(&operation);
    if (write == nullptr || write->name != store::saving_name) return success();
    return Error{Code::io, "No space left on device"};
  };
  propose(voter, 1, 6);
  voter.settle();
  REQUIRE(voter.notes.size() == 1);
  CHECK(voter.notes[0].find("No space left on device") != std::string::npos);
  CHECK(voter.stopped.empty());
  voter.disk.before = nullptr;
  propose(voter, 7, 12);
  voter.settle();
  CHECK(voter.has_job(12));
  CHECK(names(voter.disk, "snapshot-").size() == 1);
  CHECK(voter.notes.size() == 1);
}

TEST_CASE("a snapshot that arrives while entries are on their way to the disk takes their place") {
  ReplicaOptions options = snapshot_after(5);
  options.raft.snapshot_piece_bytes = 300;
  Trio trio(options);
  Member& leader = trio.a;
  Member& late = trio.c;
  trio.elect(leader);
  propose(leader, 1, 1);
  trio.settle();
  trio.beat(leader);

  // Entries that are committed, and that its disk does not have yet.
  trio.stalled_logs = {three};
  propose(leader, 2, 3);
  trio.settle();
  trio.beat(leader);
  const auto on_their_way = late.node().last_index();
  REQUIRE(late.node().commit_index() == on_their_way);
  REQUIRE(late.node().synced_index() < on_their_way);
  const auto applied_before = late.applied_indices();

  // Out of reach for so long that the log is cut without it.
  trio.cut_off = {three};
  for (int i = 0; i < 12; ++i) trio.beat(leader);
  propose(leader, 4, 12);
  trio.settle();
  REQUIRE(leader.node().first_index() > on_their_way + 1);
  trio.cut_off = {};
  for (int i = 0; i < 12 && late.restored == 0; ++i) trio.beat(leader);

  // The last piece was adopted, and its state is in force; the log is as before.
  REQUIRE(late.restored == 1);
  const auto mark = late.replica->applied_index();
  CHECK(mark > on_their_way);
  CHECK(late.has_job(3));
  CHECK(late.node().commit_index() == on_their_way);
  CHECK(late.applied_indices() == applied_before);
  REQUIRE(late.committer->waiting(log_lane) == 1);

  // Their syncs end: what these made safe is not applied any more.
  late.committer->run_one(log_lane);
  CHECK(late.node().synced_index() == on_their_way - 1);
  CHECK(late.applied_indices() == applied_before);
  late.committer->run_one(log_lane);
  CHECK(late.node().synced_index() == on_their_way);
  CHECK(late.node().commit_index() == on_their_way);
  CHECK(late.applied_indices() == applied_before);
  CHECK_FALSE(late.replica->failure());
  late.committer->run(log_lane);
  CHECK(late.node().commit_index() == mark);
  CHECK(late.node().synced_index() == mark);
  CHECK(late.applied_indices() == applied_before);

  trio.stalled_logs = {};
  trio.settle();
  trio.beat(leader);
  propose(leader, 13, 13);
  trio.settle();
  trio.beat(leader);
  CHECK(late.state().digest() == leader.state().digest());
  REQUIRE(late.applied.size() > applied_before.size());
  CHECK(late.applied[applied_before.size()].index == mark + 1);
  CHECK(late.restored == 1);

  late.reopen();
  CHECK(late.replica->applied_index() >= mark);
  CHECK(late.has_job(3));
}

TEST_CASE("a snapshot is acknowledged only after it has taken the log's place on disk") {
  HandClock clock;
  Member follower(two, clock);
  follower.open(three_voters);
  const raft::SnapshotMark mark{10, 1, three_voters};
  follower.receive(one, 1, raft::InstallSnapshot{mark, 0, snapshot_file(mark, 3), true, 1});
  follower.committer->run(background);
  CHECK(follower.restored == 1);
  CHECK(follower.transport.bodies<raft::InstallSnapshotReply>().empty());
  follower.committer->run(log_lane);
  const auto replies = follower.transport.bodies<raft::InstallSnapshotReply>();
  REQUIRE(replies.size() == 1);
  CHECK(replies[0].installed);
  CHECK(replies[0].index == 10);
  follower.reopen();
  CHECK(follower.replica->applied_index() == 10);
  CHECK(follower.has_job(3));
}

TEST_CASE("a snapshot that is damaged changes nothing, and the next one is taken") {
  HandClock clock;
  Member follower(two, clock);
  follower.open(three_voters);
  const raft::SnapshotMark mark{10, 1, three_voters};
  std::string damaged = snapshot_file(mark, 3);
  damaged[damaged.size() / 2] ^= 1;
  follower.receive(one, 1, raft::InstallSnapshot{mark, 0, damaged, true, 1});
  follower.settle();
  CHECK(follower.restored == 0);
  CHECK(follower.replica->applied_index() == 0);
  CHECK(follower.notes.size() == 1);
  CHECK_FALSE(follower.disk.has(store::incoming_name));
  const raft::InstallSnapshot whole{mark, 0, snapshot_file(mark, 3), true, 2};
  follower.receive(one, 1, whole);
  follower.settle();
  CHECK(follower.restored == 0);  // not again at once
  clock.advance(seconds(1));
  follower.receive(one, 1, whole);
  follower.settle();
  CHECK(follower.restored == 1);
  CHECK(follower.node().commit_index() == 10);
  CHECK(follower.notes.size() == 1);
}

TEST_CASE("what is left of an attempt that failed does not undo the next one") {
  HandClock clock;
  Member follower(two, clock);
  follower.open(three_voters);
  const raft::SnapshotMark mark{10, 1, three_voters};
  const std::string file = snapshot_file(mark, 3);
  const std::size_t half = file.size() / 2;
  const raft::InstallSnapshot first{mark, 0, file.substr(0, half), false, 1};
  const raft::InstallSnapshot second{mark, half, file.substr(half), true, 1};

  // The disk is full for the first piece, and has room again when the second one is written.
  follower.receive(one, 1, first);
  follower.receive(one, 1, second);
  follower.disk.before = [&](const store::Operation& operation) -> Status {
    const auto* write = std::get_if<store::Write>(&operation);
    if (write == nullptr || write->name != store::incoming_name) return success();
    follower.disk.before = nullptr;
    return Error{Code::io, "No space left on device"};
  };
  follower.committer->run_one(background);
  while (follower.notes.empty()) follower.committer->run_one(background);
  clock.advance(seconds(1));
  // The leader begins again while the second piece of before is still to be written.
  follower.receive(one, 1, first);
  follower.receive(one, 1, second);
  follower.committer->run(background);
  follower.committer->run(log_lane);
  follower.settle();
  CHECK(follower.restored == 1);
  CHECK(follower.replica->applied_index() == 10);
  CHECK(follower.node().commit_index() == 10);
  CHECK(follower.node().last_index() == 10);
}

}  // namespace gpl::peer::test
