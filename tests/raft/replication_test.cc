// Replication and commitment.

#include "network.h"

namespace gpl::raft::test {
namespace {

/// Figure 8 of the Raft paper. S1 leads, and S2 alone gets entry 2; S5 leads without knowing of it,
/// and gets an entry 2 of its own; S1 leads again and spreads the first one to a majority; S5 leads
/// again. What went wrong, if something did.
std::string figure_eight(PlantedBug bug) {
  Options options;
  options.append_limit_bytes = 1;
  options.planted_bug = bug;
  Network net(5, options);
  net.elect(node(1));
  net.loses = [](const Message& message) { return is<Append>(message) && message.to != node(2); };
  net.propose(node(1), "first");
  net.settle();
  CHECK(net.at(node(2)).last_index() == 2);
  net.crash(node(1));

  net.loses = [](const Message& message) { return is<Append>(message); };
  net.elect(node(5));
  CHECK(net.at(node(5)).role() == Role::leader);
  CHECK(net.at(node(5)).term_at(2) == net.at(node(5)).term());
  net.crash(node(5));

  // Its no-op, entry 3, reaches nobody; entry 2 reaches S3.
  net.loses = [](const Message& message) {
    const auto* append = std::get_if<Append>(&message.body);
    return append && !append->entries.empty() && append->entries.front().index > 2;
  };
  net.restart(node(1));
  net.elect(node(1));
  REQUIRE(net.at(node(1)).role() == Role::leader);
  net.run(milliseconds(500));
  CHECK(net.at(node(3)).term_at(2) == Term{1});
  CHECK(net.at(node(1)).match_of(node(2)) == 2);
  CHECK(net.at(node(1)).match_of(node(3)) == 2);
  net.crash(node(1));

  net.loses = [](const Message&) { return false; };
  net.restart(node(5));
  net.elect(node(5));
  CHECK(net.at(node(5)).role() == Role::leader);
  net.run(seconds(1));
  net.restart(node(1));
  net.run(seconds(1));
  return net.violation;
}

/// Gives a crashed host a log of so many entries of these terms.
void set_log(Host& host, const std::vector<std::pair<Term, int>>& terms) {
  host.disk.entries.clear();
  for (const auto& [term, count] : terms) {
    host.disk.hard_state = HardState{term, NodeId{}};
    for (int i = 0; i < count; ++i) {
      host.disk.entries.push_back({host.disk.entries.size() + 1, term, EntryKind::command, "x"});
    }
  }
}

}  // namespace

TEST_CASE(
    "figure 8: an entry of an older term on a majority is not committed, and may be replaced") {
  CHECK(figure_eight(PlantedBug::none) == "");
}

TEST_CASE("figure 8 finds the planted bug that commits old terms by counting") {
  CHECK(figure_eight(PlantedBug::commit_old_term_by_counting) != "");
}

TEST_CASE("a partitioned leader that comes back with uncommitted entries takes the others' log") {
  Network net(3);
  net.elect(node(1));
  net.cut_off(node(1));
  CHECK(net.propose(node(1), "lost 1") == 2);
  CHECK(net.propose(node(1), "lost 2") == 3);
  net.run(seconds(5));
  const NodeId leader = net.leader();
  REQUIRE(leader != node(1));
  CHECK(net.at(node(1)).role() != Role::leader);
  net.propose(leader, "kept");
  net.heal();
  net.run(seconds(3));
  CHECK(net.at(node(1)).last_index() == 3);
  REQUIRE(net.host(node(1)).applied.size() == 3);
  CHECK(net.host(node(1)).applied.back().data == "kept");
  CHECK(net.violation == "");
}

TEST_CASE("a command is committed with two syncs of three, the leader's own among them or not") {
  for (const std::uint64_t slow : {1u, 2u}) {
    Network net(3);
    net.elect(node(1));
    net.host(node(slow)).syncs = false;
    net.propose(node(1), "a");
    net.settle();
    CHECK(net.at(node(1)).commit_index() == 2);
    // What is committed is handed out where it is synced.
    CHECK(net.host(node(1)).applied.size() == (slow == 1 ? 1 : 2));
    net.sync_all(node(slow));
    net.settle();
    CHECK(net.host(node(slow)).applied.size() == 2);
    CHECK(net.violation == "");
  }
}

TEST_CASE("one sync of three commits nothing") {
  Network net(3);
  net.elect(node(1));
  net.host(node(1)).syncs = net.host(node(2)).syncs = false;
  net.propose(node(1), "a");
  net.settle();
  CHECK(net.at(node(1)).commit_index() == 1);
}

TEST_CASE("a follower whose disk stops syncing is no dead peer, and the others go on") {
  Network net(3);
  net.elect(node(1));
  net.host(node(3)).syncs = false;
  for (int i = 0; i < 200; ++i) {
    net.propose(node(1), "x");
    net.run(milliseconds(50));
  }
  CHECK(net.at(node(1)).commit_index() == 201);
  CHECK(net.at(node(1)).match_of(node(3)) == 1);
  CHECK(net.now() - net.at(node(1)).heard_from(node(3)).value() < milliseconds(200));
  // It is sent no more than the limit of unanswered messages.
  CHECK(net.at(node(3)).last_index() == 1 + Options{}.inflight_limit);
  net.host(node(3)).syncs = true;
  net.sync_all(node(3));
  net.run(seconds(1));
  CHECK(net.host(node(3)).applied.size() == 201);
  CHECK(net.at(node(1)).term() == 1);
}

TEST_CASE("commit does not starve while proposals arrive faster than the disks sync") {
  Network net(3);
  net.elect(node(1));
  for (auto& [id, host] : net.hosts()) host.syncs = false;
  Index longest = 0;
  for (int i = 0; i < 500; ++i) {
    for (int j = 0; j < 3; ++j) net.propose(node(1), "x");
    net.settle();
    // Each disk finishes three persists while three more begin, and is never done.
    for (auto& [id, host] : net.hosts()) {
      for (int j = 0; j < 3 && host.writing.size() > 3; ++j) net.sync(id);
    }
    net.settle();
    const Node& leader = net.at(node(1));
    CHECK(!net.host(node(1)).writing.empty());
    longest = std::max(longest, leader.last_index() - leader.commit_index());
  }
  CHECK(net.at(node(1)).commit_index() > 1400);
  CHECK(longest <= 16);
  CHECK(net.violation == "");
}

TEST_CASE("doubled and reordered messages change nothing") {
  Options options;
  options.append_limit_bytes = 1;
  Network net(3, options);
  net.elect(node(1));
  for (int i = 0; i < 50; ++i) {
    for (int j = 0; j < 4; ++j) net.propose(node(1), std::to_string(i * 4 + j));
    std::vector<Message> all(net.wire().begin(), net.wire().end());
    net.wire().clear();
    for (auto message = all.rbegin(); message != all.rend(); ++message) net.deliver(*message);
    for (const Message& message : all) net.deliver(message);
    if (i % 10 == 0) net.run(milliseconds(100));
  }
  net.run(seconds(1));
  CHECK(net.at(node(1)).commit_index() == 201);
  for (const auto& [id, host] : net.hosts()) CHECK(host.applied.size() == 201);
  CHECK(net.at(node(1)).term() == 1);
  CHECK(net.violation == "");
}

TEST_CASE("an Append has entries up to its limit of bytes, and one entry even if that is larger") {
  Options options;
  options.append_limit_bytes = 1000;
  Network net(3, options);
  net.elect(node(1));
  net.cut_off(node(3));
  for (int i = 0; i < 20; ++i) net.propose(node(1), std::string(300, 'x'));
  net.propose(node(1), std::string(5000, 'y'));
  net.settle();
  net.heal();
  std::size_t largest = 0;
  std::size_t most = 0;
  net.loses = [&](const Message& message) {
    if (const auto* append = std::get_if<Append>(&message.body)) {
      std::size_t bytes = 0;
      for (const Entry& entry : append->entries) bytes += entry.data.size();
      CHECK((bytes <= 1000 || append->entries.size() == 1));
      largest = std::max(largest, bytes);
      most = std::max(most, append->entries.size());
    }
    return false;
  };
  net.run(seconds(2));
  CHECK(net.host(node(3)).applied.size() == 22);
  CHECK(largest == 5000);
  CHECK(most == 2);
}

TEST_CASE("no more Appends with entries than the limit are unanswered") {
  Options options;
  options.inflight_limit = 5;
  Network net(3, options);
  net.elect(node(1));
  net.settle();
  for (int i = 0; i < 20; ++i) net.propose(node(1), "x");
  std::map<NodeId, int> unanswered;
  for (const Message& message : net.wire()) {
    const auto* append = std::get_if<Append>(&message.body);
    if (append && !append->entries.empty()) ++unanswered[message.to];
  }
  CHECK(unanswered == std::map<NodeId, int>{{node(2), 5}, {node(3), 5}});
  net.settle();
  CHECK(net.at(node(1)).commit_index() == 21);
}

TEST_CASE("conflicting terms are skipped whole: one refusal a term, however many entries") {
  struct Case {
    std::vector<std::pair<Term, int>> leader, follower;  ///< terms, and how many entries of each
    int refusals;
  };
  const std::vector<Case> cases = {
      {{{1, 1}, {3, 300}}, {{1, 1}, {2, 500}}, 1},
      {{{1, 1}, {2, 300}, {4, 9}}, {{1, 1}, {3, 500}}, 2},
      {{{1, 1}, {3, 300}}, {{1, 1}}, 1},
      {{{5, 300}}, {{1, 100}, {2, 100}, {3, 100}, {4, 100}}, 1},
  };
  for (const Case& one : cases) {
    Network net(3);
    net.crash(node(1));
    net.crash(node(2));
    net.crash(node(3));
    set_log(net.host(node(1)), one.leader);
    set_log(net.host(node(2)), one.leader);
    set_log(net.host(node(3)), one.follower);
    for (const std::uint64_t id : {1u, 2u, 3u}) net.restart(node(id));
    int refusals = 0;
    net.loses = [&](const Message& message) {
      const auto* reply = std::get_if<AppendReply>(&message.body);
      if (reply && !reply->accepted) ++refusals;
      return false;
    };
    net.elect(node(1));
    net.run(milliseconds(300));
    CHECK(net.at(node(3)).last_index() == net.at(node(1)).last_index());
    CHECK(refusals == one.refusals);
    CHECK(net.violation == "");
  }
}

TEST_CASE("a lost Append is noticed by the next heartbeat, and its entries are sent again") {
  Network net(3);
  net.elect(node(1));
  net.loses = [](const Message& message) { return is<Append>(message) && message.to == node(3); };
  for (int i = 0; i < 10; ++i) net.propose(node(1), "x");
  net.settle();
  net.loses = [](const Message&) { return false; };
  CHECK(net.at(node(3)).last_index() == 1);
  net.run(milliseconds(110));
  CHECK(net.at(node(3)).last_index() == 11);
}

TEST_CASE("an idle follower is told of a commit at once") {
  Network net(3);
  net.elect(node(1));
  net.propose(node(1), "a");
  net.settle();
  for (const auto& [id, host] : net.hosts()) CHECK(host.applied.size() == 2);
}

TEST_CASE("proposals are taken by the leader alone, and only such as fit an entry") {
  Network net(3);
  net.elect(node(1));
  CHECK(net.at(node(2)).propose(net.now(), "x").error().code == Code::busy);
  CHECK(net.at(node(1)).propose(net.now(), std::string(entry_limit_bytes + 1, 'x')).error().code ==
        Code::too_large);
  CHECK(net.at(node(1)).propose(net.now(), std::string(entry_limit_bytes, 'x')).ok());
}

TEST_CASE("what has committed is applied in steps, and the next one is due at once") {
  Options options;
  options.apply_limit_bytes = 1000;
  Network net(1, options);
  net.host(node(1)).syncs = false;
  for (int i = 0; i < 20; ++i) net.propose(node(1), std::string(300, 'x'));
  net.at(node(1)).synced(net.now(), net.host(node(1)).taken);
  std::size_t applied = 0;
  for (int steps = 1;; ++steps) {
    const Output output = net.at(node(1)).take_output();
    REQUIRE(!output.committed.empty());
    CHECK(output.committed.size() < 4);
    applied += output.committed.size();
    if (applied == 20) break;
    CHECK(net.at(node(1)).wake_at() <= net.now());
    REQUIRE(steps < 20);
  }
  CHECK(net.at(node(1)).wake_at() > net.now());
}

TEST_CASE("commands proposed before the output is taken go out in one Append and one persist") {
  Network net(3);
  net.elect(node(1));
  Node& leader = net.at(node(1));
  CHECK(leader.propose(net.now(), "a").value() == 2);
  CHECK(leader.propose(net.now(), "b").ok());
  CHECK(leader.propose(net.now(), "c").ok());
  const Output output = leader.take_output();
  REQUIRE(output.send_now.size() == 2);
  CHECK(std::get<Append>(output.send_now[0].body).entries.size() == 3);
  CHECK(output.persist->entries.size() == 3);
  CHECK(output.send_synced.empty());
  CHECK(output.committed.empty());
}

TEST_CASE("a commit index beyond what a follower has agreed to commits no more than that") {
  Network net(3);
  net.elect(node(1));
  net.loses = [](const Message& message) { return message.to == node(3); };
  net.propose(node(1), "a");
  net.settle();
  net.loses = [](const Message&) { return false; };
  net.deliver({node(1), node(3), 1, Append{1, 1, 2, 1, {}}});
  CHECK(net.at(node(3)).commit_index() == 1);
}

TEST_CASE("leadership is confirmed as of when the round was begun that a majority has answered") {
  Network net(5);
  net.elect(node(1));
  CHECK(net.at(node(2)).confirmed_at() == std::nullopt);
  net.run(seconds(1));
  const Moment begun = net.now();
  net.at(node(1)).tick(begun + milliseconds(100));
  std::vector<Message> round = net.at(node(1)).take_output().send_now;
  REQUIRE(round.size() == 4);
  net.pass(milliseconds(150));
  CHECK(net.at(node(1)).confirmed_at() < begun + milliseconds(100));
  net.deliver(round[0]);  // with itself that is two of five
  net.settle();
  CHECK(net.at(node(1)).confirmed_at() < begun + milliseconds(100));
  net.deliver(round[1]);
  net.settle();
  CHECK(net.at(node(1)).confirmed_at() == begun + milliseconds(100));
  // Late answers to rounds before take nothing back; without answers it gets no later.
  net.cut_off(node(1));
  net.run(milliseconds(500));
  CHECK(net.at(node(1)).confirmed_at() == begun + milliseconds(100));
}

TEST_CASE("a lone voter's leadership is confirmed at any time, a follower's never") {
  Network net(1);
  net.pass(milliseconds(50));  // between two heartbeats
  net.propose(node(1), "x");
  CHECK(net.at(node(1)).confirmed_at() == net.now());
}

}  // namespace gpl::raft::test
