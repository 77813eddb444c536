// A lone voter awaits a learner that keeps up, and none that does not.

#include "network.h"

namespace gpl::raft::test {
namespace {

/// Node 1 is the only voter, node 2 a learner that keeps up.
Network voter_and_learner() {
  Network net(1);
  net.add(node(2), Configuration{});
  REQUIRE(net.at(node(1)).add_learner(net.now(), node(2)).ok());
  net.run(milliseconds(500));
  REQUIRE(net.at(node(1)).is_kept_twice());
  return net;
}

}  // namespace

TEST_CASE("what a lone voter commits is on the disk of a learner that keeps up") {
  Network net = voter_and_learner();
  net.host(node(2)).syncs = false;
  const Index index = net.propose(node(1), "a");
  net.settle();
  CHECK(net.at(node(1)).synced_index() == index);
  CHECK(net.at(node(1)).commit_index() == index - 1);
  net.sync_all(node(2));
  net.settle();
  CHECK(net.at(node(1)).commit_index() == index);
  CHECK(net.at(node(1)).is_kept_twice());
}

TEST_CASE("a learner that is not heard for an election timeout is awaited no more") {
  Network net = voter_and_learner();
  net.crash(node(2));
  const Index index = net.propose(node(1), "a");
  net.run(milliseconds(500));
  CHECK(net.at(node(1)).commit_index() == index - 1);
  net.run(milliseconds(700));
  CHECK(net.at(node(1)).commit_index() == index);
  CHECK_FALSE(net.at(node(1)).is_kept_twice());
  // What comes then is not held up at all.
  CHECK(net.at(node(1)).commit_index() == net.propose(node(1), "b"));
}

TEST_CASE("a learner that answers, and whose disk stands still, is awaited no more") {
  Network net = voter_and_learner();
  net.host(node(2)).syncs = false;
  const Index index = net.propose(node(1), "a");
  net.run(milliseconds(1300));
  CHECK(net.at(node(1)).commit_index() == index);
  CHECK_FALSE(net.at(node(1)).is_kept_twice());
  net.sync_all(node(2));
  net.host(node(2)).syncs = true;
  net.run(milliseconds(300));
  CHECK(net.at(node(1)).is_kept_twice());
}

TEST_CASE("a learner that comes back is awaited once it has caught up") {
  Network net = voter_and_learner();
  net.crash(node(2));
  net.run(milliseconds(1200));
  for (int i = 0; i < 50; ++i) net.propose(node(1), "x");
  net.restart(node(2));
  CHECK_FALSE(net.at(node(1)).is_kept_twice());
  net.run(milliseconds(500));
  CHECK(net.at(node(1)).is_kept_twice());
  CHECK(net.at(node(1)).match_of(node(2)) == net.at(node(1)).last_index());
  net.cut_off(node(2));
  const Index index = net.propose(node(1), "a");
  net.settle();
  CHECK(net.at(node(1)).commit_index() == index - 1);
}

TEST_CASE("a lone voter that restarts is not held up by a learner it has not heard") {
  Network net = voter_and_learner();
  net.crash(node(2));
  net.crash(node(1));
  net.restart(node(1));
  net.settle();
  CHECK(net.at(node(1)).leads());
  CHECK_FALSE(net.at(node(1)).is_kept_twice());
}

TEST_CASE("of several learners one is enough") {
  Network net = voter_and_learner();
  net.add(node(3), Configuration{});
  REQUIRE(net.at(node(1)).add_learner(net.now(), node(3)).ok());
  net.run(milliseconds(500));
  net.cut_off(node(2));
  const Index index = net.propose(node(1), "a");
  net.settle();
  CHECK(net.at(node(1)).commit_index() == index);
  CHECK(net.at(node(3)).commit_index() == index);
  CHECK(net.at(node(1)).is_kept_twice());
}

TEST_CASE("where there are several voters no learner is awaited") {
  Network net(3);
  net.elect(node(1));
  net.add(node(4), Configuration{});
  REQUIRE(net.at(node(1)).add_learner(net.now(), node(4)).ok());
  net.run(milliseconds(500));
  net.cut_off(node(4));
  const Index index = net.propose(node(1), "a");
  net.settle();
  CHECK(net.at(node(1)).commit_index() == index);
  CHECK_FALSE(net.at(node(1)).is_kept_twice());
}

TEST_CASE("a follower has applied an entry one round trip after it has synced it") {
  Network net(3);
  net.elect(node(1));
  net.run(milliseconds(200));
  // No time passes: no heartbeat is due.
  const Index index = net.propose(node(1), "a");
  net.settle();
  for (std::uint64_t i = 1; i <= 3; ++i) {
    REQUIRE(!net.host(node(i)).applied.empty());
    CHECK(net.host(node(i)).applied.back().index == index);
  }
}

TEST_CASE("a node that can be reached anew is asked at once, whatever was lost") {
  Network net(3);
  net.elect(node(1));
  net.run(milliseconds(200));
  net.cut_off(node(3));
  const Index index = net.propose(node(1), "a");
  net.settle();
  net.heal();
  REQUIRE(net.at(node(3)).last_index() == index - 1);
  // No time passes.
  net.at(node(1)).reached(net.now(), node(3));
  net.tick(node(1));
  net.settle();
  CHECK(net.at(node(3)).commit_index() == index);
}

TEST_CASE("one that asks for votes asks a node that can be reached anew at once") {
  Network net(2);
  net.cut_off(node(2));
  net.pass(seconds(3));
  net.tick(node(1));
  net.settle();
  REQUIRE(net.at(node(1)).role() == Role::pre_candidate);
  net.heal();
  net.at(node(1)).reached(net.now(), node(2));
  CHECK(net.at(node(1)).wake_at() <= net.now());
  net.tick(node(1));
  net.settle();
  CHECK(net.at(node(1)).role() == Role::leader);
}

}  // namespace gpl::raft::test
