// Peers of a cluster die, are cut off, stop and leave.

#include <algorithm>

#include "consensus_network.h"

using namespace gpl;
using namespace gpl::peer;
using gpl::peer::test::ConsensusNetwork;
using gpl::peer::test::submit_by;

namespace {

std::vector<PeerId> peers(std::initializer_list<std::uint64_t> numbers) {
  std::vector<PeerId> peers;
  for (const std::uint64_t number : numbers) peers.push_back(PeerId{number});
  return peers;
}

/// Each result is of its own request, and each request made one job.
void check_once(ConsensusNetwork& net, std::uint64_t asker, std::uint64_t witness,
                const std::vector<std::pair<std::uint64_t, JobId>>& told) {
  std::set<JobId> jobs;
  for (const auto& [request, job] : told) {
    jobs.insert(job);
    CHECK(net[witness].state()->find_request({asker, request}) == job);
  }
  CHECK(jobs.size() == told.size());
}

}  // namespace

TEST_CASE("the leader dies: another leads, and what was under way at a follower goes on") {
  ConsensusNetwork net;
  net.grow(3);
  const int changes = net.at(2).leader_changes;
  std::vector<std::pair<std::uint64_t, JobId>> told;
  std::vector<Error> failed;
  const auto propose = [&](std::uint64_t request) {
    net[2].propose(submit_by(PeerId{2}, request), [&, request](const Result<Applied>& applied) {
      if (!applied.ok()) return failed.push_back(applied.error());
      told.emplace_back(request, *applied.value().job);
    });
  };
  for (std::uint64_t request = 1; request <= 60; ++request) propose(request);
  net.until([&] { return told.size() >= 10; });
  for (std::uint64_t request = 61; request <= 120; ++request) propose(request);
  net.kill(1);
  for (std::uint64_t request = 121; request <= 130; ++request) propose(request);
  net.until([&] { return told.size() + failed.size() == 130; });
  CHECK(failed.empty());
  net.until([&] { return net.agree(); });
  CHECK(net.leader() != 0);
  CHECK(net.at(2).leader_changes >= changes + 2);  // nobody, then another
  CHECK(net[3].facts().leader == PeerId{net.leader()});
  CHECK(net[3].facts().can_lose == 0);
  check_once(net, 2, 3, told);
}

TEST_CASE("without a majority nothing is applied, and nothing that was asked is forgotten") {
  ConsensusNetwork net;
  net.grow(3);
  net.kill(1);
  net.kill(3);
  std::optional<Result<Applied>> answer;
  net[2].propose(submit_by(PeerId{2}, 1), [&](Result<Applied> r) { answer.emplace(std::move(r)); });
  net.until([&] { return net[2].facts().leader == PeerId{}; });
  CHECK_FALSE(net[2].led_since().has_value());
  CHECK(net.is_ready(2));  // what is known
  CHECK_FALSE(answer.has_value());
  net.restart(3);
  net.until([&] { return answer.has_value(); });
  REQUIRE(answer->ok());
  CHECK(net[2].state()->find_request({2, 1}) == answer->value().job);
}

TEST_CASE("a peer that starts where nobody leads is ready with what it knows") {
  ConsensusNetwork net;
  net.grow(3);
  net.kill(1);
  net.kill(2);
  net.kill(3);
  const Moment began = net.loop->now();
  net.restart(2);
  net.until([&] { return net.is_ready(2); });
  CHECK(net.loop->now() - began >= seconds(5));
  CHECK(net[2].facts().leader == PeerId{});
  CHECK(net[2].facts().can_lose == 0);
}

TEST_CASE("answers that are lost are asked for again, and the result is told once") {
  ConsensusNetwork net;
  net.grow(2);
  int lost = 0;
  net.loses = [&](PeerId, PeerId, const wire::LinkMessage& message) {
    return std::holds_alternative<wire::Proposed>(message) && lost++ == 0;
  };
  int told = 0;
  JobId job;
  net[2].propose(submit_by(PeerId{2}, 1), [&](const Result<Applied>& applied) {
    REQUIRE(applied.ok());
    job = *applied.value().job;
    ++told;
  });
  net.until([&] { return told > 0; });
  CHECK(lost == 2);
  CHECK(job == JobId{1});
  CHECK(net.make_job(2, 2) == JobId{2});
  CHECK(told == 1);
}

TEST_CASE("a link that comes back is used at once, for what was asked and for the log") {
  ConsensusNetwork net;
  net.grow(2);
  net.unlink(1, 2);
  std::optional<Result<Applied>> answer;
  net[2].propose(submit_by(PeerId{2}, 1), [&](Result<Applied> r) { answer.emplace(std::move(r)); });
  net.run_for(milliseconds(300));
  CHECK_FALSE(answer.has_value());
  net.link(1, 2);
  net.until([&] { return answer.has_value(); });
  CHECK(answer->ok());
}

TEST_CASE("a leader that stops hands over first; it is a learner then, and one goes on alone") {
  ConsensusNetwork net;
  net.grow(2);
  net.make_job(1, 1);
  CHECK(net.give_up(1, false).ok());
  CHECK(net[2].leads());
  CHECK(net[2].facts().voters == peers({2}));
  CHECK(net[2].facts().learners == peers({1}));
  net.kill(1);
  net.make_job(2, 1);
  net.restart(1);
  net.until([&] { return net.is_ready(1) && net.agree(); });
  CHECK(net[1].facts().leader == PeerId{2});
}

TEST_CASE("of three voters one stops: the rest can go on without each other's vote") {
  ConsensusNetwork net;
  net.grow(3);
  CHECK(net.give_up(3, false).ok());
  net.kill(3);
  // Two voters would stand still when either goes.
  net.until([&] { return net[1].facts().voters == peers({1}); });
  net.until([&] { return net[1].facts().learners == peers({2, 3}); });
  net.make_job(2, 1);
  CHECK_FALSE(net[1].facts().unprotected);
  net.restart(3);
  net.until([&] { return net[1].facts().voters == peers({1, 2, 3}); });
  net.until([&] { return net.agree(); });
}

TEST_CASE("a leader of three that stops hands over to one of the others") {
  ConsensusNetwork net;
  net.grow(3);
  CHECK(net.give_up(1, false).ok());
  net.kill(1);
  const std::uint64_t leader = net.leader();
  CHECK(leader != 0);
  net.make_job(2, 1);
  net.make_job(3, 1);
  CHECK(net.leader() == leader);
}

TEST_CASE("a lone peer has nothing to give up") {
  ConsensusNetwork net;
  net.found(1);
  net.until([&] { return net[1].leads(); });
  CHECK(net.give_up(1, false).ok());
  CHECK(net.give_up(1, true).ok());
}

TEST_CASE("a leader that stops with nobody there is not held up") {
  ConsensusNetwork net;
  net.grow(2);
  net.kill(2);
  CHECK(net.give_up(1, false, seconds(2)).ok());
}

TEST_CASE("one that wants to leave where nobody can take over is told so in time, and leads on") {
  ConsensusNetwork net;
  net.grow(2);
  net.kill(2);
  const Status left = net.give_up(1, true, milliseconds(300));
  REQUIRE_FALSE(left.ok());
  CHECK(left.error().code == Code::busy);
  net.restart(2);
  net.until([&] { return net.is_ready(2) && !net[1].facts().unprotected; });
  net.run_for(milliseconds(300));
  CHECK(net[1].leads());
}

TEST_CASE("who leaves is no member any more, its record is dropped, and it is not taken in again") {
  ConsensusNetwork net;
  net.grow(2);
  PeerOffer offer;
  offer.name = "two";
  REQUIRE(net.propose(2, command::PeerUp{PeerId{2}, "keeper", offer, Instant{1}}).ok());
  REQUIRE(net[1].state()->find_peer(PeerId{2}) != nullptr);
  CHECK(net.give_up(2, true).ok());
  CHECK(net[1].state()->find_peer(PeerId{2}) == nullptr);
  CHECK(net[1].facts().learners.empty());
  net.run_for(milliseconds(300));
  CHECK(net[1].facts().learners.empty());
  CHECK_FALSE(net[1].facts().unprotected);
  // Its worker is not heard any more either.
  net[2].to_leader(to_leader::Hello{{5}, "keeper", offer, {}, {}});
  net.run_for(milliseconds(50));
  CHECK(net.at(2).to_worker.empty());
}

TEST_CASE("a founder that leaves gives all to the other") {
  ConsensusNetwork net;
  net.grow(2);
  const JobId job = net.make_job(1, 1);
  CHECK(net.give_up(1, true).ok());
  net.kill(1);
  net.until([&] { return net[2].leads(); });
  CHECK(net[2].facts().voters == peers({2}));
  CHECK(net[2].facts().learners.empty());
  CHECK(net[2].state()->find_job(job) != nullptr);
  net.make_job(2, 1);
}

TEST_CASE("a peer that is forgotten is no member any more") {
  ConsensusNetwork net;
  net.grow(2);
  CHECK(net[2].forget(PeerId{1}).error().code == Code::busy);
  PeerOffer offer;
  offer.name = "two";
  REQUIRE(net.propose(2, command::PeerUp{PeerId{2}, "keeper", offer, Instant{1}}).ok());
  net.kill(2);
  CHECK(net[1].forget(PeerId{2}).error().code == Code::busy);  // it may be back in a moment
  REQUIRE(net.propose(1, command::PeerDown{PeerId{2}, Instant{2}}).ok());
  CHECK(net[1].forget(PeerId{2}).ok());
  net.until([&] { return net[1].facts().learners.empty(); });
  CHECK(net[1].state()->find_peer(PeerId{2}) == nullptr);
}

TEST_CASE("nobody speaks for another") {
  ConsensusNetwork net;
  net.grow(2);
  const raft::Term term = 99;
  net[2].take(PeerId{3}, wire::RaftSays{{raft::NodeId{1}, raft::NodeId{2}, term,
                                         raft::Append{0, 0, 0, 1, {}}}});
  net.make_job(2, 1);
  CHECK(net[2].facts().leader == PeerId{1});
}
