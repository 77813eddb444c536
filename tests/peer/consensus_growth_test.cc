// A cluster grows from its founder, and each peer answers from a state of its own.

#include "consensus_network.h"
#include "full_disk.h"

using namespace gpl;
using namespace gpl::peer;
using gpl::peer::test::ConsensusNetwork;
using gpl::peer::test::FullDisk;
using gpl::peer::test::submit_by;

namespace {

std::vector<PeerId> peers(std::initializer_list<std::uint64_t> numbers) {
  std::vector<PeerId> peers;
  for (const std::uint64_t number : numbers) peers.push_back(PeerId{number});
  return peers;
}

}  // namespace

TEST_CASE("the second peer is a learner that is awaited, and answers from the same state") {
  ConsensusNetwork net;
  net.found(1);
  net.until([&] { return net[1].leads(); });
  CHECK_FALSE(net[1].facts().unprotected);  // there is nobody to protect it
  CHECK(net[1].facts().can_lose == 0);
  const JobId before = net.make_job(1, 1);
  net.join(2);
  CHECK_FALSE(net.is_ready(2));
  CHECK_FALSE(net[2].is_member());
  net.until([&] { return net.is_ready(2) && !net[1].facts().unprotected; });
  CHECK(net[2].state()->find_job(before) != nullptr);
  for (const std::uint64_t number : {1u, 2u}) {
    const ConsensusFacts facts = net[number].facts();
    CHECK(facts.leader == PeerId{1});
    CHECK(facts.voters == peers({1}));
    CHECK(facts.learners == peers({2}));
    CHECK(facts.can_lose == 1);
    CHECK(net[number].is_member());
    CHECK(net[number].led_since().has_value());
  }
  CHECK_FALSE(net[2].leads());
}

TEST_CASE("a founder with a learner that went away is unprotected, and goes on") {
  ConsensusNetwork net;
  net.grow(2);
  net.until([&] { return !net[1].facts().unprotected; });
  net.kill(2);
  net.make_job(1, 1);
  CHECK(net[1].facts().unprotected);
  CHECK(net[1].facts().can_lose == 0);
  net.restart(2);
  net.until([&] { return net.is_ready(2) && !net[1].facts().unprotected && net.agree(); });
}

TEST_CASE("what is proposed at a learner is applied once, told with its result, and in order") {
  ConsensusNetwork net;
  net.grow(2);
  std::vector<std::uint64_t> jobs;
  for (std::uint64_t request = 1; request <= 200; ++request)
    net[2].propose(submit_by(PeerId{2}, request), [&](const Result<Applied>& applied) {
      REQUIRE(applied.ok());
      jobs.push_back(applied.value().job->value);
      // Applied here before it is told.
      CHECK(net[2].state()->find_job(*applied.value().job) != nullptr);
    });
  CHECK(jobs.empty());
  net.until([&] { return jobs.size() == 200; });
  for (std::size_t i = 0; i < jobs.size(); ++i) CHECK(jobs[i] == i + 1);
  net.until([&] { return net.agree(); });
  CHECK(net[1].state()->find_request({2, 200}) == JobId{200});
}

TEST_CASE("what is too large is refused at a learner as it is at the leader") {
  ConsensusNetwork net;
  net.grow(2);
  command::Submit large = submit_by(PeerId{2}, 1);
  large.job.spec.command.push_back(std::string(100'000, 'x'));
  for (const std::uint64_t number : {1u, 2u}) {
    const auto refused = net.propose(number, large);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == Code::too_large);
  }
}

TEST_CASE("three peers are three voters, and the fourth is a learner") {
  ConsensusNetwork net;
  net.grow(4);
  CHECK(net[1].facts().voters == peers({1, 2, 3}));
  CHECK(net[4].facts().learners == peers({4}));
  CHECK(net[1].facts().can_lose == 1);
  CHECK(net[4].facts().can_lose == 1);
  CHECK(net.make_job(4, 1) == JobId{1});
}

TEST_CASE("a laptop that founded a cluster hands over when a machine that stays on joins") {
  ConsensusNetwork net;
  net.add(1).hello.on_battery = true;
  net.open(net.at(1), true);
  net.until([&] { return net[1].leads(); });
  net.make_job(1, 1);
  net.join(2);
  net.until([&] {
    return net[2].leads() && net[1].facts().learners == peers({1}) && net[1].is_member();
  });
  CHECK(net[2].facts().voters == peers({2}));
  CHECK(net.make_job(1, 2) == JobId{2});
}

TEST_CASE("a joining peer with a log of its own goes on with it, and one without waits") {
  ConsensusNetwork net;
  net.grow(2);
  const JobId job = net.make_job(1, 1);
  net.until([&] { return net.agree(); });
  net.kill(2);
  net.restart(2);
  CHECK(net[2].is_member());  // its own log says so
  net.until([&] { return net.is_ready(2); });
  CHECK(net[2].state()->find_job(job) != nullptr);
}

TEST_CASE("when all start anew nobody is ready before it has what was committed before") {
  ConsensusNetwork net;
  net.grow(3);
  const JobId job = net.make_job(1, 1);
  net.until([&] { return net.agree(); });
  for (const std::uint64_t number : {1u, 2u, 3u}) net.kill(number);
  for (const std::uint64_t number : {1u, 2u, 3u}) {
    net.at(number).on_ready = [&net, number, job] {
      CHECK(net[number].state()->find_job(job) != nullptr);
    };
    net.restart(number);
  }
  net.until([&] { return net.agree() && net.leader() != 0; });
}

TEST_CASE("a peer that comes late is given a snapshot, and is ready with all of it") {
  ConsensusNetwork net;
  net.change = [](ConsensusOptions& options) { options.snapshot_after_entries = 500; };
  net.found(1);
  net.until([&] { return net[1].leads(); });
  std::size_t done = 0;
  for (std::uint64_t request = 1; request <= 2500; ++request)
    net[1].propose(submit_by(PeerId{1}, request),
                   [&](const Result<Applied>& r) { done += r.ok(); });
  net.until([&] { return done == 2500; });
  ConsensusNetwork::Member& late = net.add(2);
  late.on_ready = [&] {
    if (late.ready == 1) CHECK(net[2].state()->find_request({1, 2500}) == JobId{2500});
  };
  net.open(late, false);
  net.link_all(2);
  net.until([&] { return net.is_ready(2) && net.agree(); });
  CHECK(late.ready > 0);
  // Most of it came without the log.
  CHECK(net.at(2).applied.size() < 2000);
  CHECK(net.make_job(2, 1) == JobId{2501});
}

TEST_CASE("a worker's words reach the leader from everywhere, and its answers come back") {
  ConsensusNetwork net;
  net.grow(2);
  for (const std::uint64_t number : {1u, 2u}) {
    net[number].to_leader(to_leader::Hello{{5}, "keeper", {}, {}, {}});
    net.until([&] { return !net.at(number).to_worker.empty(); });
    CHECK(std::holds_alternative<to_worker::Welcome>(net.at(number).to_worker.front()));
  }
}

TEST_CASE("when no log can be written all are closed, what was proposed fails, and all come back") {
  ConsensusNetwork net;
  net.grow(3);
  const JobId kept = net.make_job(2, 1);
  net.until([&] { return net.agree(); });
  std::vector<Result<Applied>> failed;
  bool was_closed = false;
  {
    const FullDisk full;
    net[2].propose(submit_by(PeerId{2}, 2),
                   [&](Result<Applied> result) { failed.push_back(std::move(result)); });
    net.until([&] { return failed.size() == 1 && !net.at(2).closed.empty(); });
    was_closed = net[2].state() == nullptr && net[2].failure().has_value();
  }
  CHECK(was_closed);
  CHECK_FALSE(failed[0].ok());
  net.until([&] { return net.leader() != 0 && net.is_ready(2) && net.agree(); });
  CHECK(net[2].state()->find_job(kept) != nullptr);
  net.make_job(2, 3);
  CHECK(net.at(2).ready == 2);
}
