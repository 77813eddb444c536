// Snapshots: cutting the log, sending them, taking them.

#include "network.h"

namespace gpl::raft::test {
namespace {

/// Node 1 leads, has applied many entries and cut its log behind them; node 3 has only the first.
/// The log is cut for node 3, which was away for long enough.
Network one_left_behind(Options options, int entries = 3000) {
  Network net(3, options);
  net.elect(node(1));
  net.cut_off(node(3));
  net.run(seconds(2));
  for (int i = 0; i < entries; ++i) net.propose(node(1), "command " + std::to_string(i));
  net.settle();
  net.save_snapshot(node(1));
  net.run(milliseconds(500));
  REQUIRE(net.at(node(1)).role() == Role::leader);
  REQUIRE(net.at(node(1)).first_index() > 2);
  return net;
}

Options small_pieces() {
  Options options;
  options.snapshot_piece_bytes = 1000;
  return options;
}

}  // namespace

TEST_CASE(
    "a follower that needs what the log no longer has gets the snapshot, and goes on from there") {
  Network net = one_left_behind(small_pieces());
  net.heal();
  net.run(seconds(1));
  const Index last = net.at(node(1)).last_index();
  CHECK(net.host(node(3)).disk.snapshot == net.host(node(1)).disk.snapshot);
  CHECK(net.at(node(3)).first_index() == net.host(node(1)).disk.snapshot.index + 1);
  CHECK(net.propose(node(1), "after") == last + 1);
  net.run(milliseconds(200));
  CHECK(net.host(node(3)).applied == net.host(node(1)).applied);
  CHECK(net.at(node(1)).match_of(node(3)) == last + 1);
  CHECK(net.violation == "");
}

TEST_CASE("a snapshot that arrives while entries do: both are there in the end, whatever is late") {
  Network net = one_left_behind(small_pieces());
  Prng random(5);
  net.heal();
  int proposed = 0;
  for (int i = 0; i < 4000; ++i) {
    if (i % 20 == 0) net.propose(node(1), "meanwhile " + std::to_string(++proposed));
    if (i % 50 == 0) {
      net.pass(milliseconds(100));
      net.tick(node(1));
    }
    if (!net.host(node(1)).reads.empty()) net.read(node(1));
    if (net.wire().empty()) continue;
    const std::size_t place = random.below(net.wire().size());
    const auto at = net.wire().begin() + static_cast<std::ptrdiff_t>(place);
    Message message = *at;
    if (!random.one_in(10)) net.wire().erase(at);  // else it comes twice
    net.deliver(std::move(message));
  }
  net.run(seconds(3));
  CHECK(proposed == 200);
  CHECK(net.host(node(3)).applied == net.host(node(1)).applied);
  CHECK(net.host(node(3)).applied.size() == 3201);
  CHECK(net.violation == "");
}

TEST_CASE("entries that come between the last piece and the installation do not enter the log") {
  Network net = one_left_behind(small_pieces());
  net.host(node(3)).installs = false;
  net.heal();
  net.run(seconds(1));
  REQUIRE(net.host(node(3)).arriving.back().last);
  const Index before = net.at(node(3)).last_index();
  const Term term = net.at(node(1)).term();
  net.deliver({node(1), node(3), term,
               Append{before,
                      *net.at(node(3)).term_at(before),
                      0,
                      1,
                      {{before + 1, term, EntryKind::command, "x"}}}});
  CHECK(net.at(node(3)).last_index() == before);
  CHECK(net.host(node(3)).writing.empty());
  // It is alive meanwhile, and does not campaign.
  net.run(seconds(3));
  CHECK(net.now() - net.at(node(1)).heard_from(node(3)).value() < milliseconds(300));
  net.cut_off(node(3));
  net.run(seconds(5));
  CHECK(net.at(node(3)).role() == Role::follower);
  net.heal();
  net.host(node(3)).installs = true;
  net.install(node(3));
  net.run(seconds(3));
  CHECK(net.host(node(3)).applied == net.host(node(1)).applied);
  CHECK(net.violation == "");
}

TEST_CASE("pieces go out one at a time, and a lost one is sent again after an election timeout") {
  Network net = one_left_behind(small_pieces());
  net.heal();
  int pieces = 0;
  net.loses = [&](const Message& message) { return is<InstallSnapshot>(message) && ++pieces == 3; };
  net.run(milliseconds(900));
  CHECK(pieces == 3);
  net.run(milliseconds(1500));
  CHECK(net.host(node(3)).applied == net.host(node(1)).applied);
}

TEST_CASE("doubled answers, and pieces told twice, do not make more pieces") {
  Network net = one_left_behind(small_pieces());
  net.heal();
  std::map<std::uint64_t, int> times;
  std::vector<Message> replies;
  net.loses = [&](const Message& message) {
    if (const auto* piece = std::get_if<InstallSnapshot>(&message.body)) ++times[piece->offset];
    if (is<InstallSnapshotReply>(message)) replies.push_back(message);
    return false;
  };
  net.tick(node(1));
  net.pass(milliseconds(100));
  net.tick(node(1));
  for (int i = 0; i < 100'000 && !(net.wire().empty() && net.host(node(1)).reads.empty()); ++i) {
    if (!net.host(node(1)).reads.empty()) {
      const SnapshotRead read = net.host(node(1)).reads.front();
      net.read(node(1));
      net.at(node(1)).snapshot_piece(net.now(), read, "again", 1'000'000);
    } else {
      Message message = net.wire().front();
      net.wire().pop_front();
      net.deliver(message);
      if (is<InstallSnapshotReply>(message)) net.deliver(message);
    }
  }
  CHECK(net.host(node(3)).applied == net.host(node(1)).applied);
  CHECK(times.size() > 20);
  for (const auto& [offset, count] : times) CHECK(count == 1);
}

TEST_CASE("the leader learns of the installation at once") {
  Network net = one_left_behind(small_pieces());
  net.host(node(3)).installs = false;
  net.heal();
  net.run(seconds(1));
  REQUIRE(net.host(node(3)).arriving.back().last);
  CHECK(net.at(node(1)).match_of(node(3)) < net.at(node(1)).last_index());
  net.install(node(3));
  net.settle();
  CHECK(net.at(node(1)).match_of(node(3)) == net.at(node(1)).last_index());
}

TEST_CASE("a follower that crashed in the middle is sent the snapshot from its beginning") {
  Network net = one_left_behind(small_pieces());
  net.heal();
  int pieces = 0;
  net.loses = [&](const Message& message) { return is<InstallSnapshot>(message) && ++pieces > 10; };
  net.run(milliseconds(500));
  CHECK(net.host(node(3)).arriving.size() == 10);
  net.crash(node(3));
  net.restart(node(3));
  net.loses = [](const Message&) { return false; };
  net.run(seconds(3));
  CHECK(net.host(node(3)).applied == net.host(node(1)).applied);
  CHECK(net.violation == "");
}

TEST_CASE("a new leader sends its own snapshot from the beginning, never the rest of another's") {
  Network net = one_left_behind(small_pieces());
  net.save_snapshot(node(2));
  net.heal();
  int pieces = 0;
  net.loses = [&](const Message& message) { return is<InstallSnapshot>(message) && ++pieces > 10; };
  net.run(milliseconds(500));
  REQUIRE(net.host(node(3)).arriving.size() == 10);
  net.crash(node(1));
  net.loses = [](const Message&) { return false; };
  net.run(seconds(5));
  REQUIRE(net.leader() == node(2));
  CHECK(net.host(node(3)).applied == net.host(node(2)).applied);
  CHECK(net.violation == "");
}

TEST_CASE("a stale snapshot is answered with what is there, and nothing is written") {
  Network net(3);
  net.elect(node(1));
  for (int i = 0; i < 5; ++i) net.propose(node(1), "x");
  net.settle();
  const SnapshotMark mark = net.at(node(3)).mark_at(4).value();
  net.deliver({node(1), node(3), 1, InstallSnapshot{mark, 0, "bytes", true, 1}});
  CHECK(net.host(node(3)).arriving.empty());
  REQUIRE(net.wire().size() == 1);
  const auto& reply = std::get<AppendReply>(net.wire().front().body);
  CHECK(reply.accepted);
  CHECK(reply.match == 6);
}

TEST_CASE("a snapshot of long ago, whose entry the log no longer has, is stale too") {
  Network net(3);
  net.elect(node(1));
  for (int i = 0; i < 3000; ++i) net.propose(node(1), "x");
  net.settle();
  net.save_snapshot(node(3));
  REQUIRE(net.at(node(3)).term_at(9) == std::nullopt);
  net.deliver({node(1), node(3), 1, InstallSnapshot{{9, 1, voters(3)}, 0, "bytes", true, 1}});
  CHECK(net.host(node(3)).arriving.empty());
  CHECK(net.at(node(3)).last_index() == 3001);
}

TEST_CASE("a late piece of an older snapshot does not disturb the arrival of a newer one") {
  Network net(2);
  net.elect(node(1));
  const auto piece = [&](Index index, std::uint64_t offset) {
    net.deliver(
        {node(1), node(2), 1, InstallSnapshot{{index, 1, voters(2)}, offset, "x", false, 1}});
    const Message reply = net.wire().back();
    return std::get<InstallSnapshotReply>(reply.body).next_offset;
  };
  CHECK(piece(20, 0) == 1);
  CHECK(piece(20, 1) == 2);
  const std::size_t replies = net.wire().size();
  net.deliver({node(1), node(2), 1, InstallSnapshot{{10, 1, voters(2)}, 0, "x", false, 1}});
  CHECK(net.wire().size() == replies);
  CHECK(piece(20, 2) == 3);
  CHECK(piece(20, 1) == 3);  // doubled
  CHECK(piece(20, 9) == 3);  // too early
  CHECK(net.host(node(2)).arriving.size() == 3);
  CHECK(piece(30, 0) == 1);
  CHECK(net.host(node(2)).arriving.size() == 1);
}

TEST_CASE("a follower that has the mark's entry needs no snapshot: it learns what is committed") {
  Network net(3);
  net.elect(node(1));
  net.loses = [](const Message& message) { return is<AppendReply>(message); };
  for (int i = 0; i < 5; ++i) net.propose(node(1), "x");
  net.settle();
  REQUIRE(net.at(node(3)).commit_index() == 1);
  net.deliver({node(1), node(3), 1, InstallSnapshot{{5, 1, voters(3)}, 0, "bytes", true, 1}});
  CHECK(net.host(node(3)).arriving.empty());
  CHECK(net.at(node(3)).commit_index() == 5);
  CHECK(net.host(node(3)).applied.size() == 5);
}

TEST_CASE("a snapshot that turns out damaged is asked for anew") {
  Network net = one_left_behind(small_pieces());
  Host& host = net.host(node(3));
  host.installs = false;
  net.heal();
  net.run(seconds(1));
  REQUIRE(host.arriving.back().last);
  net.at(node(3)).snapshot_refused(net.now(), host.arriving.back().mark);
  host.arriving.clear();
  host.installs = true;
  net.run(seconds(3));
  CHECK(host.applied == net.host(node(1)).applied);
  CHECK(net.violation == "");
}

TEST_CASE("what is synced while a snapshot is installed is applied only if that is refused") {
  Network net(2);
  Host& host = net.host(node(2));
  host.syncs = host.installs = false;
  const std::vector<Entry> entries{{1, 1, EntryKind::noop, ""}, {2, 1, EntryKind::command, "x"}};
  net.deliver({node(1), node(2), 1, Append{0, 0, 2, 1, entries}});
  const SnapshotMark mark{9, 1, voters(2)};
  net.deliver({node(1), node(2), 1, InstallSnapshot{mark, 0, "bytes", true, 1}});
  REQUIRE(host.arriving.size() == 1);
  net.sync_all(node(2));
  CHECK(host.applied.empty());
  net.at(node(2)).snapshot_refused(net.now(), mark);
  net.tick(node(2));
  CHECK(host.applied == entries);
}

TEST_CASE("a snapshot that is no longer there is given up for the newest") {
  Network net = one_left_behind(small_pieces());
  net.heal();
  int pieces = 0;
  net.loses = [&](const Message& message) { return is<InstallSnapshot>(message) && ++pieces > 10; };
  net.run(milliseconds(500));
  for (int i = 0; i < 3000; ++i) net.propose(node(1), "more");
  net.settle();
  const SnapshotMark old = net.host(node(1)).disk.snapshot;
  net.save_snapshot(node(1));  // a read of the old one finds nothing from now on
  CHECK(net.host(node(1)).disk.snapshot != old);
  CHECK(net.at(node(1)).first_index() == old.index + 1);  // what it needs after the old one
  net.loses = [](const Message&) { return false; };
  net.run(seconds(5));
  CHECK(net.host(node(3)).disk.snapshot == net.host(node(1)).disk.snapshot);
  CHECK(net.host(node(3)).applied == net.host(node(1)).applied);
}

TEST_CASE("a learner is fed by snapshot too, and learns the members from it") {
  Network net = one_left_behind(small_pieces());
  net.add(node(4), Configuration{});
  net.heal();
  net.run(seconds(2));
  REQUIRE(net.at(node(1)).add_learner(net.now(), node(4)).ok());
  net.run(seconds(2));
  CHECK(net.at(node(4)).configuration() == Configuration{voters(3).voters, {node(4)}});
  CHECK(net.at(node(4)).first_index() > 1);
  CHECK(net.host(node(4)).applied == net.host(node(1)).applied);
}

TEST_CASE("a log is cut up to the snapshot but for its last 1,024 entries") {
  Network net(1);
  for (int i = 0; i < 3000; ++i) net.propose(node(1), "x");
  net.save_snapshot(node(1));
  CHECK(net.at(node(1)).first_index() == 3001 + 1 - 1024);
  CHECK(net.at(node(1)).last_index() == 3001);
}

TEST_CASE("how many entries are kept is an option, for those that answer too") {
  Options options;
  options.kept_entries = 10;
  options.long_kept_entries = 100;
  Network net(3, options);
  net.elect(node(1));
  net.host(node(3)).syncs = false;
  for (int i = 0; i < 500; ++i) {
    net.propose(node(1), "x");
    net.settle();
  }
  net.run(milliseconds(200));
  net.save_snapshot(node(1));
  net.save_snapshot(node(2));
  CHECK(net.at(node(1)).first_index() == 502 - 100);
  CHECK(net.at(node(2)).first_index() == 502 - 10);
}

TEST_CASE("entries that were lost on their way, and then cut off, are made up for by a snapshot") {
  Options options;
  options.kept_entries = options.long_kept_entries = 10;
  options.inflight_limit = 4;
  Network net(3, options);
  net.elect(node(1));
  net.loses = [](const Message& message) {
    const auto* append = std::get_if<Append>(&message.body);
    return append && message.to == node(3) && !append->entries.empty();
  };
  for (int i = 0; i < 100; ++i) {
    net.propose(node(1), "x");
    net.settle();
  }
  net.save_snapshot(node(1));
  REQUIRE(net.at(node(1)).first_index() > 50);
  net.loses = [](const Message&) { return false; };
  net.run(milliseconds(500));
  CHECK(net.host(node(3)).applied == net.host(node(1)).applied);
  CHECK(net.violation == "");
}

TEST_CASE("entries that a live follower still needs are kept, beyond those") {
  Network net(3);
  net.elect(node(1));
  net.host(node(3)).syncs = false;
  for (int i = 0; i < 3000; ++i) {
    net.propose(node(1), "x");
    net.settle();
  }
  net.run(milliseconds(200));
  net.save_snapshot(node(1));
  CHECK(net.at(node(1)).first_index() == 2);
  CHECK(net.at(node(2)).first_index() == 1);
}

TEST_CASE("a mark is made of applied entries only, with the members of then") {
  Network net(1);
  net.propose(node(1), "a");
  REQUIRE(net.at(node(1)).add_learner(net.now(), node(2)).ok());
  net.tick(node(1));
  CHECK(net.at(node(1)).mark_at(2) == SnapshotMark{2, 1, voters(1)});
  CHECK(net.at(node(1)).mark_at(3) == SnapshotMark{3, 1, {{node(1)}, {node(2)}}});
  net.host(node(1)).syncs = false;
  net.propose(node(1), "b");
  CHECK(net.at(node(1)).mark_at(4) == std::nullopt);
}

TEST_CASE("a snapshot of what is not applied here is not believed, and the log stays") {
  Network net(1);
  net.host(node(1)).syncs = false;
  for (int i = 0; i < 2000; ++i) net.propose(node(1), "x");
  net.at(node(1)).snapshot_saved(SnapshotMark{2001, 1, voters(1)});
  CHECK(net.at(node(1)).first_index() == 1);
  net.sync_all(node(1));
  net.at(node(1)).snapshot_saved(SnapshotMark{2001, 1, voters(1)});
  CHECK(net.at(node(1)).first_index() > 1);
}

TEST_CASE("after a restart from a snapshot the log goes on behind it") {
  Network net(1);
  for (int i = 0; i < 10; ++i) net.propose(node(1), "x");
  net.save_snapshot(node(1));
  net.propose(node(1), "y");
  net.crash(node(1));
  net.restart(node(1));
  CHECK(net.at(node(1)).first_index() == 12);
  CHECK(net.at(node(1)).leads());
  CHECK(net.host(node(1)).applied.size() == 13);
  CHECK(net.violation == "");
}

}  // namespace gpl::raft::test
