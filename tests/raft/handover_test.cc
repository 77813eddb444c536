// Leadership transfer.

#include "network.h"

namespace gpl::raft::test {
namespace {

bool is_told_to_campaign(Network& net, NodeId id) {
  return std::any_of(net.wire().begin(), net.wire().end(), [&](const Message& message) {
    return is<TimeoutNow>(message) && message.to == id;
  });
}

}  // namespace

TEST_CASE("a transferee that has the whole log leads after one round, while the old leader lives") {
  Network net(3);
  net.elect(node(1));
  REQUIRE(net.at(node(1)).transfer(net.now(), node(3)).ok());
  net.tick(node(1));
  net.settle();
  CHECK(net.at(node(3)).leads());
  CHECK(net.at(node(3)).term() == 2);
  CHECK(net.at(node(1)).role() == Role::follower);
  CHECK(net.at(node(1)).leader() == node(3));
  CHECK(net.violation == "");
}

TEST_CASE("a transferee that is behind is asked when it has the whole log, and not before") {
  Network net(3);
  net.elect(node(1));
  net.host(node(3)).syncs = false;
  net.propose(node(1), "a");
  net.settle();
  REQUIRE(net.at(node(1)).transfer(net.now(), node(3)).ok());
  net.tick(node(1));
  CHECK(!is_told_to_campaign(net, node(3)));
  net.settle();
  CHECK(net.propose(node(1), "b") == 0);
  net.host(node(3)).syncs = true;
  net.sync_all(node(3));
  net.settle();
  CHECK(net.at(node(3)).leads());
  CHECK(net.host(node(3)).applied.size() == 3);
}

TEST_CASE("proposals and changes are refused during a transfer, and taken again when it fails") {
  Network net(3);
  net.elect(node(1));
  net.cut_off(node(3));
  Node& leader = net.at(node(1));
  REQUIRE(leader.transfer(net.now(), node(3)).ok());
  net.tick(node(1));
  CHECK(leader.propose(net.now(), "x").error().code == Code::busy);
  CHECK(leader.remove(net.now(), node(2)).error().code == Code::busy);
  net.run(milliseconds(900));
  CHECK(leader.propose(net.now(), "x").error().code == Code::busy);
  net.run(milliseconds(200));
  CHECK(leader.role() == Role::leader);
  CHECK(leader.propose(net.now(), "x").ok());
}

TEST_CASE("a lost request to campaign is sent again with the next heartbeat") {
  Network net(3);
  net.elect(node(1));
  int lost = 0;
  net.loses = [&](const Message& message) { return is<TimeoutNow>(message) && lost++ == 0; };
  REQUIRE(net.at(node(1)).transfer(net.now(), node(2)).ok());
  net.tick(node(1));
  net.run(milliseconds(150));
  CHECK(net.at(node(2)).leads());
}

TEST_CASE("leadership is handed to voters only, and by a leader only") {
  Network net(3);
  net.elect(node(1));
  CHECK(net.at(node(1)).transfer(net.now(), node(9)).error().code == Code::invalid);
  CHECK(net.at(node(2)).transfer(net.now(), node(3)).error().code == Code::busy);
  CHECK(net.at(node(1)).transfer(net.now(), node(1)).ok());
  CHECK(net.at(node(1)).propose(net.now(), "x").ok());
}

TEST_CASE("only its own leader can tell a node to campaign, and only in the present term") {
  Network net(3);
  net.elect(node(1));
  net.deliver({node(3), node(2), 1, TimeoutNow{}});
  net.deliver({node(1), node(2), 0, TimeoutNow{}});
  CHECK(net.at(node(2)).term() == 1);
  CHECK(net.wire().empty());
  net.deliver({node(1), node(2), 1, TimeoutNow{}});
  CHECK(net.at(node(2)).term() == 2);
}

TEST_CASE(
    "a leader whose disk does not come back from a sync hands over to a voter that has it all") {
  Network net(3);
  net.elect(node(1));
  net.host(node(1)).syncs = false;
  net.propose(node(1), "a");
  net.run(milliseconds(3900));
  CHECK(net.at(node(1)).role() == Role::leader);
  CHECK(net.at(node(1)).commit_index() == 2);
  net.run(milliseconds(300));
  CHECK(net.at(node(1)).role() != Role::leader);
  REQUIRE(net.leader() != NodeId{});
  CHECK(net.leader() != node(1));
  CHECK(net.at(net.leader()).leads());
  CHECK(net.propose(net.leader(), "b") != 0);
  net.settle();
  CHECK(net.at(net.leader()).commit_index() == 4);
  CHECK(net.violation == "");
}

TEST_CASE("the voter that is furthest takes over, not one that is behind") {
  Network net(5);
  net.elect(node(1));
  net.host(node(1)).syncs = net.host(node(2)).syncs = false;
  net.propose(node(1), "a");
  net.run(milliseconds(4300));
  REQUIRE(net.leader() != NodeId{});
  CHECK(net.leader() > node(2));
}

TEST_CASE("with two voters a stuck disk is no reason to hand over: nobody could be elected") {
  Network net(2);
  net.elect(node(1));
  net.host(node(1)).syncs = false;
  net.propose(node(1), "a");
  net.run(seconds(20));
  CHECK(net.at(node(1)).role() == Role::leader);
  CHECK(net.at(node(1)).term() == 1);
  net.sync_all(node(1));
  net.settle();
  CHECK(net.at(node(1)).commit_index() == 2);
}

}  // namespace gpl::raft::test
