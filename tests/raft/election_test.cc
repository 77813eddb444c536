// Elections: votes and disks, pre-votes, check-quorum, the lone voter.

#include "network.h"

namespace gpl::raft::test {
namespace {

/// So many messages of this kind are on their way.
template <class Type>
std::size_t count(Network& network) {
  const auto of_type = [](const Message& message) { return is<Type>(message); };
  return static_cast<std::size_t>(
      std::count_if(network.wire().begin(), network.wire().end(), of_type));
}

Message vote_request(std::uint64_t from, std::uint64_t to, Term term, Index last, Term last_term) {
  return {node(from), node(to), term, VoteRequest{last, last_term, false}};
}

}  // namespace

TEST_CASE("three nodes elect one of them, and all hear of it") {
  Network net(3);
  net.run(seconds(5));
  const NodeId leader = net.leader();
  REQUIRE(leader != NodeId{});
  CHECK(net.at(leader).leads());
  for (const auto& [id, host] : net.hosts()) {
    CHECK(host.node->leader() == leader);
    CHECK(host.node->term() == 1);
    CHECK(host.applied.size() == 1);
    CHECK(host.applied.front().kind == EntryKind::noop);
  }
}

TEST_CASE("a lone voter leads after one sync, without waiting, and not before the sync") {
  Network net(0);
  net.add(node(1), voters(1));
  net.crash(node(1));
  net.host(node(1)).disk = Restored{{}, SnapshotMark{0, 0, voters(1)}, {}};
  net.host(node(1)).syncs = false;
  net.restart(node(1));
  CHECK(net.at(node(1)).role() == Role::candidate);
  CHECK(net.host(node(1)).writing.size() == 1);
  net.sync(node(1));
  CHECK(net.at(node(1)).role() == Role::leader);
  CHECK(!net.at(node(1)).leads());
  net.sync(node(1));
  CHECK(net.at(node(1)).leads());
  CHECK(net.wire().empty());
}

TEST_CASE("a lone voter that crashes between deciding and writing takes the same term again") {
  Network net(1);
  Host& host = net.host(node(1));
  CHECK(net.at(node(1)).term() == 1);
  net.crash(node(1));
  host.syncs = false;
  net.restart(node(1));
  CHECK(net.at(node(1)).term() == 2);
  REQUIRE(host.writing.size() == 1);
  CHECK(host.writing.front().hard_state == HardState{2, node(1)});
  net.crash(node(1));  // decided, not written
  CHECK(host.disk.hard_state == HardState{1, node(1)});
  net.restart(node(1));
  CHECK(net.at(node(1)).term() == 2);
  net.sync(node(1));
  CHECK(net.at(node(1)).role() == Role::leader);
  net.crash(node(1));  // written: this term was led in, and is never led in again
  CHECK(host.disk.hard_state == HardState{2, node(1)});
  net.restart(node(1));
  net.sync_all(node(1));
  CHECK(net.at(node(1)).term() == 3);
  CHECK(net.at(node(1)).leads());
  CHECK(net.violation == "");
}

TEST_CASE("a restart keeps term and vote") {
  Network net(3);
  net.elect(node(2));
  REQUIRE(net.at(node(2)).leads());
  net.crash(node(1));
  net.restart(node(1));
  CHECK(net.at(node(1)).term() == 1);
  CHECK(net.at(node(1)).role() == Role::follower);
  net.pass(seconds(5));
  net.deliver(vote_request(3, 1, 1, 99, 1));
  net.loses = [](const Message& message) { return !is<VoteReply>(message); };
  REQUIRE(count<VoteReply>(net) == 1);
  CHECK(!std::get<VoteReply>(net.wire().back().body).granted);
}

TEST_CASE("a vote that a torn write forgot was never told, and may be given to another") {
  Network net(3);
  Host& voter = net.host(node(3));
  voter.syncs = false;
  net.deliver(vote_request(1, 3, 1, 0, 0));
  CHECK(net.at(node(3)).term() == 1);
  CHECK(count<VoteReply>(net) == 0);  // given, not synced, not told
  net.crash(node(3));                 // the write is torn: nothing of it is there
  net.restart(node(3));
  CHECK(net.at(node(3)).term() == 0);
  net.deliver(vote_request(2, 3, 1, 0, 0));
  net.sync(node(3));
  REQUIRE(count<VoteReply>(net) == 1);
  CHECK(net.wire().back().to == node(2));
  CHECK(std::get<VoteReply>(net.wire().back().body).granted);
  net.wire().clear();
  // Once it is told it is kept: the first asker is refused, before and after a crash.
  net.deliver(vote_request(1, 3, 1, 0, 0));
  net.crash(node(3));
  net.restart(node(3));
  net.deliver(vote_request(1, 3, 1, 0, 0));
  REQUIRE(count<VoteReply>(net) == 2);
  for (const Message& message : net.wire()) CHECK(!std::get<VoteReply>(message.body).granted);
  CHECK(net.violation == "");
}

TEST_CASE("a vote asked for again by the same candidate is given again") {
  Network net(3);
  net.deliver(vote_request(1, 3, 1, 0, 0));
  net.deliver(vote_request(1, 3, 1, 0, 0));
  REQUIRE(count<VoteReply>(net) == 2);
  for (const Message& message : net.wire()) CHECK(std::get<VoteReply>(message.body).granted);
}

TEST_CASE("requests for votes wait for the sync of the own vote; pre-votes do not") {
  Network net(3);
  net.host(node(1)).syncs = false;
  net.pass(seconds(5));
  net.tick(node(1));
  CHECK(count<PreVoteRequest>(net) == 2);
  CHECK(net.host(node(1)).writing.empty());
  net.settle();
  CHECK(net.at(node(1)).role() == Role::candidate);
  CHECK(net.at(node(2)).term() == 0);
  net.sync(node(1));
  net.settle();
  CHECK(net.at(node(1)).role() == Role::leader);
}

TEST_CASE("votes that arrive before the own one is synced do not make a leader") {
  Network net(3);
  net.host(node(1)).syncs = false;
  net.pass(seconds(5));
  net.tick(node(1));
  net.settle();
  for (const std::uint64_t id : {2u, 3u}) {
    net.deliver({node(id), node(1), 1, VoteReply{true}});
  }
  CHECK(net.at(node(1)).role() == Role::candidate);
  net.sync(node(1));
  CHECK(net.at(node(1)).role() == Role::leader);
}

TEST_CASE("a candidate with less in its log gets no vote, not even against unsynced entries") {
  Network net(3);
  net.elect(node(1));
  net.host(node(2)).syncs = false;
  net.loses = [](const Message& message) { return message.to == node(3); };
  net.propose(node(1), "a");
  net.settle();
  REQUIRE(net.at(node(2)).last_index() == 2);
  REQUIRE(net.at(node(2)).synced_index() == 1);
  net.pass(seconds(5));
  // Its acknowledgement of entry 2 waits for the sync, and so would the vote: both would leave.
  net.deliver(vote_request(3, 2, 2, 1, 1));
  net.loses = [](const Message& message) { return is<AppendReply>(message); };
  net.sync_all(node(2));
  REQUIRE(count<VoteReply>(net) == 1);
  CHECK(!std::get<VoteReply>(net.wire().back().body).granted);
}

TEST_CASE("a node that was cut off comes back without a higher term, and disturbs nobody") {
  Network net(3);
  net.elect(node(1));
  net.cut_off(node(3));
  net.run(seconds(30));
  CHECK(net.at(node(3)).role() == Role::pre_candidate);
  CHECK(net.at(node(3)).term() == 1);
  net.heal();
  net.run(seconds(5));
  CHECK(net.leader() == node(1));
  for (const auto& [id, host] : net.hosts()) CHECK(host.node->term() == 1);
  CHECK(net.at(node(3)).leader() == node(1));
}

TEST_CASE("who hears its leader answers neither pre-votes nor votes") {
  Network net(3);
  net.elect(node(1));
  net.deliver({node(3), node(2), 9, PreVoteRequest{99, 9}});
  net.deliver(vote_request(3, 2, 9, 99, 9));
  net.deliver(vote_request(3, 1, 9, 99, 9));
  CHECK(net.wire().empty());
  CHECK(net.at(node(2)).term() == 1);
  CHECK(net.at(node(1)).role() == Role::leader);
}

TEST_CASE("a leader that no majority answers steps down after an election timeout") {
  Network net(5);
  net.elect(node(1));
  for (const std::uint64_t id : {3u, 4u, 5u}) {
    net.cut(node(id), node(1));  // they hear it, it does not hear them
  }
  net.run(milliseconds(900));
  CHECK(net.at(node(1)).role() == Role::leader);
  net.run(milliseconds(300));
  CHECK(net.at(node(1)).role() != Role::leader);
  CHECK(net.propose(node(1), "x") == 0);
}

TEST_CASE("a leader that a bare majority answers stays") {
  Network net(5);
  net.elect(node(1));
  for (const std::uint64_t id : {4u, 5u}) net.cut(node(id), node(1));
  net.run(seconds(20));
  CHECK(net.leader() == node(1));
  CHECK(net.at(node(1)).term() == 1);
}

TEST_CASE("answers to heartbeats of long ago do not keep a leader") {
  Network net(3);
  net.elect(node(1));
  std::vector<Message> old;
  net.loses = [&](const Message& message) {
    if (is<AppendReply>(message)) old.push_back(message);
    return is<AppendReply>(message);
  };
  net.run(milliseconds(500));
  REQUIRE(!old.empty());
  net.loses = [&](const Message& message) { return message.to != node(1); };
  for (int i = 0; i < 30; ++i) {
    net.run(milliseconds(100));
    net.deliver(old.front());
  }
  CHECK(net.at(node(1)).role() != Role::leader);
}

TEST_CASE("a node with a higher term that lacks entries ends the old term, and another leads") {
  Network net(3);
  net.elect(node(1));
  net.cut_off(node(3));
  net.propose(node(1), "a");
  net.settle();
  net.crash(node(3));
  net.host(node(3)).disk.hard_state = HardState{7, node(3)};
  net.heal();
  net.restart(node(3));
  net.run(seconds(10));
  REQUIRE(net.leader() != NodeId{});
  CHECK(net.at(net.leader()).term() > 7);
  CHECK(net.at(node(3)).last_index() == net.at(net.leader()).last_index());
  CHECK(net.violation == "");
}

TEST_CASE("lost requests are asked again: an election does not wait for the next timeout") {
  Network net(3);
  int lost = 0;
  net.loses = [&](const Message& message) {
    return (is<PreVoteRequest>(message) || is<VoteRequest>(message)) && lost++ < 4;
  };
  net.pass(seconds(5));
  net.tick(node(1));
  net.settle();
  const Moment begin = net.now();
  while (net.at(node(1)).role() != Role::leader && net.now() - begin < seconds(1)) {
    net.pass(milliseconds(10));
    if (net.at(node(1)).wake_at() <= net.now()) net.tick(node(1));
    net.settle();
  }
  CHECK(net.at(node(1)).role() == Role::leader);
}

TEST_CASE("a node whose disk is busy does not begin to campaign") {
  Network net(3);
  net.elect(node(1));
  net.host(node(2)).syncs = false;
  net.propose(node(1), "a");
  net.settle();
  net.crash(node(1));
  net.cut_off(node(3));
  net.run(seconds(10));
  CHECK(net.at(node(2)).role() == Role::follower);
  CHECK(net.at(node(2)).term() == 1);
  net.sync_all(node(2));
  net.run(seconds(3));
  CHECK(net.at(node(2)).role() == Role::pre_candidate);
}

}  // namespace gpl::raft::test
