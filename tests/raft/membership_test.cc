// Members come, are promoted, and go.

#include "network.h"

namespace gpl::raft::test {
namespace {

/// Node 1 leads alone; node 2 is there and belongs to nobody.
Network founder_and_newcomer() {
  Network net(1);
  net.add(node(2), Configuration{});
  return net;
}

Code code_of(const Result<Index>& result) { return result.error().code; }

}  // namespace

TEST_CASE("a new node comes in as a learner, catches up and is promoted") {
  Network net = founder_and_newcomer();
  for (int i = 0; i < 100; ++i) net.propose(node(1), "x");
  REQUIRE(net.at(node(1)).add_learner(net.now(), node(2)).ok());
  net.run(milliseconds(300));
  CHECK(net.at(node(2)).configuration() == Configuration{{node(1)}, {node(2)}});
  CHECK(net.host(node(2)).applied.size() == 102);
  REQUIRE(net.at(node(1)).promote(net.now(), node(2)).ok());
  net.run(milliseconds(300));
  CHECK(net.at(node(2)).configuration() == voters(2));
  CHECK(net.at(node(1)).commit_index() == 103);
  // Now both are needed.
  net.crash(node(2));
  net.propose(node(1), "y");
  net.settle();
  CHECK(net.at(node(1)).commit_index() == 103);
}

TEST_CASE("a node that belongs to nobody never campaigns, and neither does a learner") {
  Network net = founder_and_newcomer();
  net.run(seconds(10));
  CHECK(net.at(node(2)).term() == 0);
  REQUIRE(net.at(node(1)).add_learner(net.now(), node(2)).ok());
  net.run(seconds(1));
  CHECK(net.at(node(2)).leader() == node(1));
  net.crash(node(1));
  net.run(seconds(60));
  CHECK(net.at(node(2)).role() == Role::follower);
  CHECK(net.at(node(2)).term() == 1);
  CHECK(net.at(node(2)).leader() == NodeId{});
}

TEST_CASE("a learner counts for nothing: neither in commitment nor in check-quorum") {
  Network net = founder_and_newcomer();
  REQUIRE(net.at(node(1)).add_learner(net.now(), node(2)).ok());
  net.crash(node(2));
  net.run(seconds(10));
  CHECK(net.propose(node(1), "a") == 3);
  CHECK(net.at(node(1)).commit_index() == 3);
  CHECK(net.at(node(1)).term() == 1);
}

TEST_CASE("a learner that never catches up is never promoted") {
  Options options;
  options.inflight_limit = 1;
  options.append_limit_bytes = 1;
  Network net(1, options);
  net.add(node(2), Configuration{});
  REQUIRE(net.at(node(1)).add_learner(net.now(), node(2)).ok());
  net.run(milliseconds(200));
  // It takes one entry of the ten that come in a heartbeat.
  for (int i = 0; i < 100; ++i) {
    for (int j = 0; j < 10; ++j) net.propose(node(1), "x");
    net.run(milliseconds(10));
    net.loses = [](const Message& message) { return is<AppendReply>(message); };
    net.run(milliseconds(90));
    net.loses = [taken = 0](const Message& message) mutable {
      return is<AppendReply>(message) && taken++ > 0;
    };
    if (i < 3) continue;  // at first it is not far behind
    const Result<Index> promoted = net.at(node(1)).promote(net.now(), node(2));
    REQUIRE(!promoted);
    CHECK(code_of(promoted) == Code::busy);
  }
  CHECK(net.at(node(1)).match_of(node(2)) > 2);
  CHECK(net.at(node(1)).commit_index() == net.at(node(1)).last_index());
  // When the flood is over it catches up, and is taken.
  net.loses = [](const Message&) { return false; };
  net.run(seconds(30));
  CHECK(net.at(node(1)).promote(net.now(), node(2)).ok());
}

TEST_CASE("a learner that does not answer is not promoted, whatever it had") {
  Network net = founder_and_newcomer();
  REQUIRE(net.at(node(1)).add_learner(net.now(), node(2)).ok());
  net.run(milliseconds(300));
  net.crash(node(2));
  net.run(milliseconds(1200));
  CHECK(code_of(net.at(node(1)).promote(net.now(), node(2))) == Code::busy);
}

TEST_CASE("a learner that has entries but has not synced them has not caught up") {
  Network net = founder_and_newcomer();
  REQUIRE(net.at(node(1)).add_learner(net.now(), node(2)).ok());
  net.run(milliseconds(300));
  net.host(node(2)).syncs = false;
  net.propose(node(1), "a");
  net.run(milliseconds(300));
  CHECK(code_of(net.at(node(1)).promote(net.now(), node(2))) == Code::busy);
  net.sync_all(node(2));
  net.settle();
  CHECK(net.at(node(1)).promote(net.now(), node(2)).ok());
}

TEST_CASE("a change is refused while another is not committed, whichever they are") {
  Network net(3);
  net.elect(node(1));
  net.add(node(4), Configuration{});
  net.loses = [](const Message& message) { return is<AppendReply>(message); };
  Node& leader = net.at(node(1));
  REQUIRE(leader.add_learner(net.now(), node(4)).ok());
  net.settle();
  CHECK(code_of(leader.add_learner(net.now(), node(5))) == Code::busy);
  CHECK(code_of(leader.promote(net.now(), node(4))) == Code::busy);
  CHECK(code_of(leader.remove(net.now(), node(3))) == Code::busy);
  CHECK(leader.configuration() == Configuration{{node(1), node(2), node(3)}, {node(4)}});
  net.loses = [](const Message&) { return false; };
  net.run(milliseconds(300));
  REQUIRE(leader.promote(net.now(), node(4)).ok());
  CHECK(code_of(leader.remove(net.now(), node(3))) == Code::busy);
  net.run(milliseconds(300));
  CHECK(leader.remove(net.now(), node(3)).ok());
}

TEST_CASE("no change is begun before the term's no-op has committed") {
  Network net(3);
  net.loses = [](const Message& message) { return is<AppendReply>(message); };
  net.elect(node(1));
  REQUIRE(net.at(node(1)).role() == Role::leader);
  CHECK(!net.at(node(1)).leads());
  CHECK(code_of(net.at(node(1)).remove(net.now(), node(3))) == Code::busy);
  net.loses = [](const Message&) { return false; };
  net.run(milliseconds(200));
  CHECK(net.at(node(1)).leads());
  CHECK(net.at(node(1)).remove(net.now(), node(3)).ok());
}

TEST_CASE("changes that are none, or make no sense, are refused as invalid") {
  Network net(3);
  net.elect(node(1));
  Node& leader = net.at(node(1));
  CHECK(code_of(leader.add_learner(net.now(), node(2))) == Code::invalid);
  CHECK(code_of(leader.add_learner(net.now(), NodeId{})) == Code::invalid);
  CHECK(code_of(leader.promote(net.now(), node(2))) == Code::invalid);
  CHECK(code_of(leader.promote(net.now(), node(9))) == Code::invalid);
  CHECK(code_of(leader.remove(net.now(), node(9))) == Code::invalid);
  CHECK(code_of(net.at(node(2)).remove(net.now(), node(3))) == Code::busy);
  Network alone(1);
  CHECK(code_of(alone.at(node(1)).remove(alone.now(), node(1))) == Code::invalid);
}

TEST_CASE("a leader that removes itself leads until that is committed, without counting itself") {
  Network net(3);
  net.elect(node(1));
  net.cut(node(3), node(1));
  Node& leader = net.at(node(1));
  REQUIRE(leader.remove(net.now(), node(1)).ok());
  net.tick(node(1));
  net.settle();
  // Its own disk and node 2's have it: of the voters 2 and 3 that is no majority.
  CHECK(leader.role() == Role::leader);
  CHECK(leader.commit_index() == 1);
  CHECK(net.propose(node(1), "while it still leads") == 3);
  net.settle();
  CHECK(leader.commit_index() == 1);
  net.heal();
  net.run(milliseconds(200));
  CHECK(leader.role() == Role::follower);
  CHECK(net.host(node(1)).applied.size() == 3);
  // A successor was asked at once: nobody waited for a timeout.
  REQUIRE(net.leader() != NodeId{});
  CHECK(net.leader() != node(1));
  CHECK(net.at(net.leader()).leads());
  CHECK(net.at(net.leader()).configuration() == Configuration{{node(2), node(3)}, {}});
  net.run(seconds(30));
  CHECK(leader.role() == Role::follower);
  CHECK(net.at(node(2)).term() == 2);
  CHECK(net.violation == "");
}

TEST_CASE("a leader that has removed itself does not count itself as answering either") {
  Network net(3);
  net.elect(node(1));
  net.cut_off(node(3));
  REQUIRE(net.at(node(1)).remove(net.now(), node(1)).ok());
  net.run(milliseconds(1300));
  CHECK(net.at(node(1)).role() == Role::follower);
  CHECK(net.at(node(1)).commit_index() == 1);
}

TEST_CASE("the last voter that stays waits for the leader that goes, and then leads alone") {
  Network net(2);
  net.elect(node(1));
  net.loses = [](const Message& message) { return is<AppendReply>(message); };
  REQUIRE(net.at(node(1)).remove(net.now(), node(1)).ok());
  net.tick(node(1));
  net.settle();
  CHECK(net.at(node(2)).configuration() == Configuration{{node(2)}, {}});
  CHECK(net.at(node(2)).role() == Role::follower);
  CHECK(net.at(node(1)).role() == Role::leader);
  net.loses = [](const Message&) { return false; };
  net.run(milliseconds(200));
  CHECK(net.at(node(1)).role() == Role::follower);
  CHECK(net.at(node(2)).leads());
  CHECK(net.at(node(2)).term() == 2);
}

TEST_CASE("a leader that dies with its removal in its log alone is elected again, and then goes") {
  Network net(2);
  net.elect(node(1));
  net.loses = [](const Message& message) { return is<Append>(message); };
  REQUIRE(net.at(node(1)).remove(net.now(), node(1)).ok());
  net.tick(node(1));
  net.settle();
  net.crash(node(1));
  net.loses = [](const Message&) { return false; };
  net.restart(node(1));
  CHECK(net.at(node(1)).configuration() == Configuration{{node(2)}, {}});
  // Node 2 needs its vote and has the shorter log: node 1 alone can lead.
  net.run(seconds(10));
  CHECK(net.leader() == node(2));
  CHECK(net.at(node(2)).configuration() == Configuration{{node(2)}, {}});
  CHECK(net.at(node(2)).leads());
  CHECK(net.at(node(1)).role() == Role::follower);
  // Once that is known to be committed, it never campaigns again.
  const Term term = net.at(node(1)).term();
  net.crash(node(2));
  net.run(seconds(30));
  CHECK(net.at(node(1)).role() == Role::follower);
  CHECK(net.at(node(1)).term() == term);
  CHECK(net.violation == "");
}

TEST_CASE("a leader that goes tells the others first that its removal is committed") {
  Network net(3);
  net.elect(node(1));
  net.loses = [](const Message& message) { return is<TimeoutNow>(message); };
  const Index index = net.at(node(1)).remove(net.now(), node(1)).value();
  net.tick(node(1));
  net.settle();
  CHECK(net.at(node(1)).role() == Role::follower);
  CHECK(net.at(node(2)).commit_index() == index);
  CHECK(net.at(node(3)).commit_index() == index);
}

TEST_CASE("a removed node that was not told of it disturbs nobody") {
  Network net(3);
  net.elect(node(1));
  net.cut_off(node(3));
  REQUIRE(net.at(node(1)).remove(net.now(), node(3)).ok());
  net.tick(node(1));
  net.settle();
  REQUIRE(net.at(node(1)).commit_index() == 2);
  net.heal();
  net.run(seconds(60));
  CHECK(net.at(node(3)).configuration() == voters(3));
  CHECK(net.at(node(3)).term() == 1);
  CHECK(net.at(node(1)).role() == Role::leader);
  CHECK(net.at(node(1)).term() == 1);
  // Not even while nobody leads.
  net.crash(node(1));
  net.run(seconds(60));
  CHECK(net.leader() == NodeId{});
  net.restart(node(1));
  net.run(seconds(5));
  CHECK(net.leader() != NodeId{});
  CHECK(net.leader() != node(3));
  CHECK(net.violation == "");
}

TEST_CASE("the configuration before is in force again when a change is replaced") {
  Network net(3);
  net.elect(node(1));
  net.cut_off(node(1));
  REQUIRE(net.at(node(1)).remove(net.now(), node(3)).ok());
  net.tick(node(1));
  CHECK(net.at(node(1)).configuration() == voters(2));
  net.run(seconds(5));
  net.heal();
  net.run(seconds(3));
  CHECK(net.at(node(1)).configuration() == voters(3));
  CHECK(net.violation == "");
}

TEST_CASE("a follower that missed its own promotion votes, and takes entries from whoever leads") {
  Network net(3);
  net.elect(node(1));
  net.add(node(4), Configuration{});
  net.deliver({node(3), node(4), 7, VoteRequest{1, 1, false}});
  REQUIRE(net.wire().size() == 1);
  CHECK(std::get<VoteReply>(net.wire().back().body).granted);
  net.wire().clear();
  net.deliver({node(3), node(4), 7, Append{0, 0, 0, 1, {{1, 7, EntryKind::noop, ""}}}});
  CHECK(net.at(node(4)).last_index() == 1);
}

}  // namespace gpl::raft::test
