#include <doctest/doctest.h>

#include "state_fixture.h"

using namespace gpl;
using namespace gpl::test;

namespace {

JobDescription on_loss(OnLoss what, JobDescription job = one_task()) {
  job.on_loss = what;
  return job;
}
const std::vector<OnLoss> all = {OnLoss::wait, OnLoss::retry, OnLoss::fail};

}  // namespace

TEST_CASE("a peer that reports for work is known") {
  Cluster cluster;
  auto up = cluster.up(PeerId{3}, "keeper 9");
  CHECK(cluster.fine(up) == Applied{});
  CHECK(cluster.state.peers() == std::vector{PeerId{3}, lab1, lab2});
  CHECK(*cluster.state.find_peer(PeerId{3}) ==
        PeerRecord{PeerId{3}, "keeper 9", up.offer, up.at, up.at, std::nullopt});
}

TEST_CASE("peer 0 is none") {
  Cluster cluster;
  CHECK(cluster.refused(cluster.up(PeerId{})).code == Code::invalid);
}

TEST_CASE("a report of a peer that is up changes its offer, not since when it is up") {
  Cluster cluster;
  const Instant since = cluster.state.find_peer(lab1)->up_at;
  auto up = cluster.up(lab1);
  up.offer.host.cpus = 16;
  cluster.fine(up);
  const PeerRecord& peer = *cluster.state.find_peer(lab1);
  CHECK(peer.up_at == since);
  CHECK(peer.reported_at == up.at);
  CHECK(peer.offer.host.cpus == 16);
}

TEST_CASE("a peer that is back, or has a new keeper, is up since then") {
  Cluster cluster;
  const auto again = cluster.up(lab1, "keeper 2");
  cluster.fine(again);
  CHECK(cluster.state.find_peer(lab1)->up_at == again.at);
  cluster.fine(command::PeerDown{lab1, cluster.now()});
  const auto back = cluster.up(lab1, "keeper 2");
  cluster.fine(back);
  CHECK(cluster.state.find_peer(lab1)->up_at == back.at);
  CHECK(!cluster.state.find_peer(lab1)->down_at);
}

TEST_CASE("attempts stay as they are when their peer comes back, whatever its keeper") {
  for (const OnLoss what : all) {
    Cluster cluster;
    const Fence attempt = cluster.run(on_loss(what));
    cluster.fine(cluster.up(lab1));
    CHECK(cluster.fine(cluster.up(lab1, "keeper 2")) == Applied{});
    REQUIRE(cluster.state.find_attempt(attempt.attempt) != nullptr);
    CHECK(cluster.fine(cluster.report(attempt, Exited{0})).ended == std::vector{job1});
  }
}

TEST_CASE("an attempt holds what it has under a new keeper too, until its fate is settled") {
  Cluster cluster;
  cluster.add(array_of(2));
  const Fence attempt = cluster.run(job1, task(0), claims({card(0)})).front();
  cluster.fine(cluster.up(lab1, "keeper 2"));
  CHECK(cluster.refused(cluster.place(job1, task(1), claims({card(0)}))).code == Code::busy);
  cluster.fine(command::AttemptsLost{lab1, {attempt}, "reboot", cluster.now()});
  cluster.run(job1, task(1), claims({card(0)}));
}

TEST_CASE("a peer that goes down is so once, and takes nothing that waits or retries with it") {
  for (const OnLoss what : {OnLoss::wait, OnLoss::retry}) {
    Cluster cluster;
    const Fence attempt = cluster.run(on_loss(what));
    const auto down = command::PeerDown{lab1, cluster.now()};
    CHECK(cluster.fine(down) == Applied{});
    CHECK(cluster.state.find_peer(lab1)->down_at == down.at);
    CHECK(cluster.state.view_of(lab1).unreachable_since == down.at);
    cluster.idle(command::PeerDown{lab1, cluster.now()});
    cluster.fine(cluster.up(lab1));
    cluster.fine(cluster.report(attempt, Exited{0}));
    CHECK(cluster.outcome(job1) == Outcome{Exited{0}});
  }
}

TEST_CASE("an unknown peer does not go down, and is not forgotten") {
  Cluster cluster;
  CHECK(cluster.refused(command::PeerDown{PeerId{9}, cluster.now()}).code == Code::not_found);
  CHECK(cluster.refused(command::PeerForgotten{PeerId{9}, cluster.now()}).code == Code::not_found);
}

TEST_CASE("a job that must not lose an attempt ends when its peer goes down") {
  Cluster cluster;
  cluster.add(on_loss(OnLoss::fail, array_of(5)));
  const Fence lost = cluster.run(job1, task(0), {}, lab1).front();
  const Fence other = cluster.run(job1, task(1), {}, lab2).front();
  cluster.fine(cluster.report(cluster.run(job1, task(2)).front(), Exited{0}));

  const Applied applied = cluster.fine(command::PeerDown{lab1, cluster.now()});
  CHECK(applied.to_end == std::vector{lost, other});
  CHECK(cluster.outcome(job1, TaskId{0}) == Outcome{Lost{"lab1 is out of reach"}});
  CHECK(cluster.outcome(job1, TaskId{2}) == Outcome{Exited{0}});
  CHECK(cluster.outcome(job1, TaskId{4}) ==
        Outcome{FailedToStart{0, 125, "not begun: lab1 is out of reach (on-loss is fail)"}});
  CHECK(applied.ended.empty());
  CHECK(cluster.refused(cluster.report(lost, Exited{0})).code == Code::not_found);
  CHECK(cluster.fine(cluster.report(other, Cancelled{})).ended == std::vector{job1});
}

TEST_CASE("all of its attempts on the peer are lost, and retries do not bring them back") {
  Cluster cluster;
  JobDescription job = on_loss(OnLoss::fail, array_of(2));
  job.retries = 3;
  cluster.add(job);
  cluster.run(job1, tasks(0, 1));
  CHECK(cluster.fine(command::PeerDown{lab1, cluster.now()}).ended == std::vector{job1});
  REQUIRE(cluster.state.ended(job1).size() == 1);
  CHECK(cluster.outcome(job1) == Outcome{Lost{"lab1 is out of reach"}});
}

TEST_CASE("a cancelled attempt whose peer goes down has ended, and fails no job") {
  Cluster cluster;
  cluster.add(on_loss(OnLoss::fail, array_of(3)));
  cluster.run(job1, task(0));
  cluster.fine(cluster.cancel(job1, task(0)));
  cluster.fine(command::PeerDown{lab1, cluster.now()});
  CHECK(cluster.outcome(job1) == Outcome{Cancelled{}});
  CHECK(cluster.state.waiting(job1) == std::vector{tasks(1, 2)});
}

TEST_CASE("a job fails by any loss of an attempt that it must not lose") {
  for (const bool reported : {false, true}) {
    Cluster cluster;
    cluster.add(on_loss(OnLoss::fail, array_of(2)));
    const Fence attempt = cluster.run(job1, task(0)).front();
    const Command lost =
        reported ? Command(cluster.report(attempt, Lost{"power"}))
                 : Command(command::AttemptsLost{lab1, {attempt}, "power", cluster.now()});
    CHECK(cluster.fine(lost).ended == std::vector{job1});
    CHECK(cluster.outcome(job1) == Outcome{Lost{"power"}});
    CHECK(exit_status(cluster.outcome(job1, TaskId{1})) == 125);
  }
}

TEST_CASE("attempts lost with their keeper: retry is queued again, wait ends as lost") {
  for (const OnLoss what : {OnLoss::retry, OnLoss::wait}) {
    Cluster cluster;
    JobDescription job = on_loss(what);
    job.retries = 1;
    const Fence attempt = cluster.run(job);
    const Applied applied =
        cluster.fine(command::AttemptsLost{lab1, {attempt}, "reboot", cluster.now()});
    CHECK(applied.to_end.empty());
    CHECK(cluster.job(job1).has_ended() == (what == OnLoss::wait));
    CHECK(cluster.state.retries_of(job1, task0) == 0);
    if (what == OnLoss::wait) CHECK(cluster.outcome(job1) == Outcome{Lost{"reboot"}});
    cluster.refused(cluster.report(attempt, Exited{0}));
  }
}

TEST_CASE("a keeper that lost an attempt itself: retry is queued again, and does not count") {
  Cluster cluster;
  JobDescription job = on_loss(OnLoss::retry);
  job.retries = 1;
  cluster.fine(cluster.report(cluster.run(job), Lost{"no outcome on disk"}));
  CHECK(cluster.state.waiting(job1) == std::vector{task(0)});
  CHECK(cluster.state.retries_of(job1, task0) == 0);
}

TEST_CASE("a peer that is given up is gone, and every attempt there lost") {
  for (const OnLoss what : all) {
    Cluster cluster;
    const Fence attempt = cluster.run(on_loss(what));
    const Applied applied = cluster.fine(command::PeerForgotten{lab1, cluster.now()});
    CHECK(cluster.state.find_peer(lab1) == nullptr);
    CHECK(cluster.state.attempts_on(lab1).empty());
    CHECK(applied.to_end == std::vector{attempt});
    CHECK(cluster.job(job1).has_ended() == (what != OnLoss::retry));
    if (what != OnLoss::retry) CHECK(cluster.outcome(job1) == Outcome{Lost{"lab1 was given up"}});
    CHECK(cluster.refused(cluster.report(attempt, Exited{0})).code == Code::not_found);
  }
}

TEST_CASE("a peer that was given up and reports again has nothing held there") {
  Cluster cluster;
  cluster.add(array_of(2));
  cluster.run(job1, task(0), claims({card(0)}));
  cluster.fine(command::PeerForgotten{lab1, cluster.now()});
  cluster.fine(cluster.up(lab1));
  CHECK(cluster.state.view_of(lab1).holds.empty());
  cluster.run(job1, task(1), claims({card(0)}));
}

TEST_CASE("a task that was given up and ran on beside another is an overlap") {
  Cluster cluster;
  const Fence old = cluster.run(on_loss(OnLoss::retry));
  cluster.fine(command::PeerForgotten{lab1, cluster.now()});
  cluster.fine(cluster.start(cluster.run(job1, task(0), {}, lab2).front()));
  CHECK(cluster.fine(cluster.report(old, Exited{0}, true)).overlaps ==
        std::vector{Overlap{job1, task0}});
}

TEST_CASE("the feature level goes up to what this version knows, and never down") {
  Cluster cluster;
  CHECK(cluster.state.feature_level() == 1);
  cluster.idle(command::SetFeatureLevel{1, cluster.now()});
  CHECK(cluster.refused(command::SetFeatureLevel{0, cluster.now()}).code == Code::invalid);
  CHECK(cluster.refused(command::SetFeatureLevel{newest_feature_level + 1, cluster.now()}).code ==
        Code::unsupported);
}

TEST_CASE("the epoch never goes down") {
  Cluster cluster;
  cluster.fine(command::SetEpoch{5, cluster.now()});
  CHECK(cluster.state.epoch() == 5);
  cluster.idle(command::SetEpoch{5, cluster.now()});
  CHECK(cluster.refused(command::SetEpoch{4, cluster.now()}) ==
        Error{Code::invalid, "the epoch is 5 and never goes down"});
}
