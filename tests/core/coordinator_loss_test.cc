// What a coordinator does about peers that fall silent, come back, or are given up.
#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "coordinator_scene.h"
#include "gpl/core/coordinator.h"

using namespace gpl;
using namespace gpl::coordinator_test;

TEST_CASE("a peer is down after ten seconds of silence") {
  Scene scene;
  scene.lead();
  scene.bring_up(ana, 10, "k1");
  scene.wait_until(scene.now_ms + 9'000);
  CHECK(scene.proposed.empty());
  scene.wait_until(scene.now_ms + 1'500);
  REQUIRE(scene.proposals<command::PeerDown>().size() == 1);
  CHECK(scene.proposals<command::PeerDown>()[0].peer == ana);
  CHECK(scene.proposed.size() == 1);
}

TEST_CASE("a new leader gives every peer ten seconds from when it began") {
  NewLeader scene;
  scene.wait_until(scene.now_ms + 9'900);
  CHECK(scene.proposed.empty());
  scene.wait_until(scene.now_ms + 600);
  CHECK(scene.proposals<command::PeerDown>().size() == 1);
}

TEST_CASE("a hello that no renewal follows does not make a peer heard") {
  NewLeader scene;
  for (std::uint64_t session = 20; session < 31; ++session) {
    scene.wait_until(scene.now_ms + 1'000);
    scene.receive(ana, to_leader::Hello{SessionId{session}, "k1", offer_named("ana"), {}, {}});
  }
  CHECK(scene.proposals<command::PeerDown>().size() == 1);
}

TEST_CASE("a peer that was down is announced when it is back") {
  Scene scene;
  scene.lead();
  scene.bring_up(ana, 10, "k1");
  scene.wait_until(scene.now_ms + 11'000);
  scene.commit();
  REQUIRE(scene.state.find_peer(ana)->down_at);
  scene.open(ana, 11, "k1");
  scene.commit();
  CHECK_FALSE(scene.state.find_peer(ana)->down_at);
}

TEST_CASE("a peer that is back before its being down is applied is announced after that") {
  Scene scene;
  scene.lead();
  scene.bring_up(ana, 10, "k1");
  scene.wait_until(scene.now_ms + 11'000);
  CHECK(scene.proposals<command::PeerDown>().size() == 1);
  scene.open(ana, 11, "k1");
  scene.commit();
  CHECK_FALSE(scene.state.find_peer(ana)->down_at);
}

TEST_CASE("a session is not ordered anything after ten seconds of silence") {
  Scene scene;
  scene.lead();
  scene.bring_up(ana, 10, "k1");
  const JobId job = scene.submit();
  scene.wait_until(scene.now_ms + 11'000);
  scene.sent.clear();
  scene.place(job, ana);
  CHECK(scene.sent.empty());
}

TEST_CASE("leases are over by the ledger, and only those of on-loss retry") {
  NewLeader scene(OnLoss::retry, true);
  scene.placed_on(ana, OnLoss::wait);
  const std::int64_t over_ms = scene.now_ms + 60'000 + 602;
  scene.wait_until(over_ms - 1);
  CHECK(scene.proposals<command::LeasesOver>().empty());
  scene.wait_until(over_ms + 500);
  REQUIRE(scene.proposals<command::LeasesOver>().size() == 1);
  CHECK(scene.proposals<command::LeasesOver>()[0].peer == ana);
  CHECK(scene.proposals<command::LeasesOver>()[0].attempts == Fences{scene.attempt});
}

TEST_CASE("an attempt that still runs when its lease is over is ended once that is applied") {
  NewLeader scene(OnLoss::retry, true);
  scene.wait_until(scene.now_ms + 62'000);
  scene.open(ana, 11, "k1", {{scene.attempt, Instant{7}}});
  CHECK(scene.ordered<to_worker::End>(ana).empty());
  scene.commit();
  CHECK(scene.ordered<to_worker::End>(ana) == Fences{scene.attempt});
}

TEST_CASE("that an attempt outlived its lease goes through the log before it is forgotten") {
  NewLeader scene(OnLoss::retry, true);
  const JobId job = scene.state.find_attempt(scene.attempt.attempt)->job;
  scene.open(bob, 50, "k7");
  scene.commit();
  scene.wait_until(scene.now_ms + 62'000);
  scene.open(bob, 51, "k7");
  scene.commit();
  const Fence second = scene.place(job, bob);
  scene.apply(command::Start{second, Instant{scene.now_ms}});

  scene.open(ana, 11, "k1", {}, {scene.ended(scene.attempt, Lost{"late"}, true)});
  CHECK(scene.ordered<to_worker::Acknowledge>(ana).empty());
  REQUIRE(scene.proposals<command::Report>().size() == 1);
  CHECK(scene.proposals<command::Report>()[0].outlived_lease);
  scene.commit();
  CHECK(scene.ordered<to_worker::Acknowledge>(ana) == Fences{scene.attempt});
  CHECK(scene.state.find_job(job)->overlaps == std::vector<TaskId>{TaskId{0}});
}

TEST_CASE("that an attempt outlived its lease is told before it is known that another ran") {
  NewLeader scene(OnLoss::retry, true);
  const JobId job = scene.state.find_attempt(scene.attempt.attempt)->job;
  scene.open(bob, 50, "k7");
  scene.commit();
  scene.wait_until(scene.now_ms + 62'000);
  scene.open(bob, 51, "k7");
  scene.commit();
  const Fence second = scene.place(job, bob);

  scene.open(ana, 11, "k1", {}, {scene.ended(scene.attempt, Lost{"late"}, true)});
  REQUIRE(scene.proposals<command::Report>().size() == 1);
  scene.commit();
  CHECK(scene.ordered<to_worker::Acknowledge>(ana) == Fences{scene.attempt});
  CHECK(scene.state.find_job(job)->overlaps.empty());
  scene.tell(bob, 51, 1, LiveAttempt{second, Instant{scene.now_ms}});
  scene.commit();
  CHECK(scene.state.find_job(job)->overlaps == std::vector<TaskId>{TaskId{0}});
}

TEST_CASE("an attempt that outlived its lease and that none has followed is no news") {
  NewLeader scene(OnLoss::retry, true);
  scene.wait_until(scene.now_ms + 62'000);
  scene.commit();
  scene.open(ana, 11, "k1", {}, {scene.ended(scene.attempt, Lost{"late"}, true)});
  CHECK(scene.proposals<command::Report>().empty());
  CHECK(scene.ordered<to_worker::Acknowledge>(ana) == Fences{scene.attempt});
}

TEST_CASE("a peer is up again only once what was given up there has ended") {
  NewLeader scene(OnLoss::fail, true);
  scene.wait_until(scene.now_ms + 11'000);
  scene.commit();
  REQUIRE(scene.state.find_peer(ana)->down_at);
  REQUIRE(scene.state.find_attempt(scene.attempt.attempt) == nullptr);
  scene.open(ana, 11, "k1", {{scene.attempt, Instant{7}}});
  CHECK(scene.ordered<to_worker::End>(ana) == Fences{scene.attempt});
  CHECK(scene.proposals<command::PeerUp>().empty());
  SUBCASE("at once then") {
    scene.tell(ana, 11, 1, scene.ended(scene.attempt, Signalled{15, false}));
    CHECK(scene.proposals<command::PeerUp>().size() == 1);
  }
  SUBCASE("but what cannot be killed is not waited for") {
    const std::int64_t opened_ms = scene.now_ms;
    for (int i = 1; i < 31; ++i) {
      scene.wait_until(opened_ms + i * 500);
      if (scene.now_ms < opened_ms + 15'000) REQUIRE(scene.proposals<command::PeerUp>().empty());
      scene.renew(ana, 11, to_worker::Welcome{SessionId{11}, {0, 6}, 1});
    }
    scene.wait_until(opened_ms + 15'500);
    CHECK(scene.proposals<command::PeerUp>().size() == 1);
  }
}

TEST_CASE("very many lost attempts are told in several commands, which fit the log") {
  Scene scene;
  scene.lead();
  scene.bring_up(ana, 10, "k1");
  command::Submit submit;
  submit.request = {0, 77};
  submit.job.spec.command = {"true"};
  submit.job.shape = Array{{TaskId{0}, TaskId{2999}}, std::nullopt};
  submit.at = Instant{scene.now_ms};
  const JobId job = *scene.apply(submit).job;
  for (const std::uint64_t first : {0u, 1000u, 2000u})
    scene.apply(command::Place{
        job, {{TaskId{first}, TaskId{first + 999}}, ana, {1, 0, {}, ""}}, Instant{scene.now_ms}});
  scene.open(ana, 11, "k2");
  const auto lost = scene.proposals<command::AttemptsLost>();
  REQUIRE(lost.size() == 3);
  for (const auto& one : lost) CHECK(one.attempts.size() <= 1024);
  scene.commit();
  CHECK(scene.state.attempts_on(ana).empty());
}

TEST_CASE("attempts that a new keeper does not know are lost, and the peer is up only then") {
  NewLeader scene;
  const JobId job = scene.state.find_attempt(scene.attempt.attempt)->job;
  scene.open(ana, 11, "k2");
  REQUIRE(scene.proposed.size() == 1);
  REQUIRE(scene.proposals<command::AttemptsLost>().size() == 1);
  CHECK(scene.proposals<command::AttemptsLost>()[0].attempts == Fences{scene.attempt});
  CHECK(scene.ordered<to_worker::Start>(ana).empty());
  scene.commit();
  CHECK(scene.state.find_peer(ana)->keeper == "k2");
  CHECK(std::holds_alternative<Lost>(*scene.outcome_of(job)));
}

TEST_CASE(
    "what was ordered of a keeper, and never begun, is ordered of the next one of that boot") {
  Scene scene;
  scene.lead();
  scene.bring_up(ana, 10, "boot ns 1");
  const Fence attempt = scene.placed_on(ana);
  scene.open(ana, 500, "boot ns 2");
  CHECK(scene.proposals<command::AttemptsLost>().empty());
  CHECK(scene.ordered<to_worker::Start>(ana).back() == attempt);
}

TEST_CASE("after a reboot what was ordered and is not known is lost") {
  Scene scene;
  scene.lead();
  scene.bring_up(ana, 10, "boot ns 1");
  const Fence attempt = scene.placed_on(ana);
  scene.open(ana, 500, "other ns 2");
  REQUIRE(scene.proposals<command::AttemptsLost>().size() == 1);
  CHECK(scene.proposals<command::AttemptsLost>()[0].attempts == Fences{attempt});
}

TEST_CASE("a keeper inherits from one of the same boot and process namespace alone") {
  CHECK(inherits("b n 1", "b n 1"));
  CHECK(inherits("b n 1", "b n 22"));
  CHECK_FALSE(inherits("b n 1", "b m 1"));
  CHECK_FALSE(inherits("b n 1", "c n 1"));
  CHECK_FALSE(inherits("", "b n 1"));
  CHECK_FALSE(inherits("k1", "k2"));
}

TEST_CASE("an outcome that a new keeper found on disk is taken") {
  NewLeader scene;
  const JobId job = scene.state.find_attempt(scene.attempt.attempt)->job;
  scene.open(ana, 11, "k2", {}, {scene.ended(scene.attempt, Exited{4})});
  scene.commit();
  CHECK(scene.outcome_of(job) == Outcome{Exited{4}});
  CHECK(scene.ordered<to_worker::Acknowledge>(ana) == Fences{scene.attempt});
}

TEST_CASE("an attempt placed after a new keeper was judged is that keeper's own") {
  NewLeader scene;
  scene.open(ana, 11, "k2");
  const Fence later = scene.placed_on(ana);
  CHECK(scene.ordered<to_worker::Start>(ana) == Fences{later});
  // The order is lost with the session, before anything has been applied.
  scene.open(ana, 12, "k2");
  CHECK(scene.ordered<to_worker::Start>(ana) == Fences{later});
  for (const auto& lost : scene.proposals<command::AttemptsLost>())
    CHECK(lost.attempts == Fences{scene.attempt});
}

TEST_CASE("an old hello of a keeper that is gone does no harm") {
  Scene scene;
  scene.lead();
  scene.bring_up(ana, 10, "k1");
  scene.bring_up(ana, 500, "k2");
  const Fence attempt = scene.placed_on(ana);
  scene.receive(ana, to_leader::Hello{SessionId{10}, "k1", offer_named("ana"), {}, {}});
  CHECK(scene.proposed.empty());
  // Nor does the renewal that once followed it.
  scene.renew(ana, 10, {SessionId{10}, Leadership{0, 5}, 1});
  CHECK(scene.proposed.empty());
  scene.tell(ana, 500, 1, LiveAttempt{attempt, Instant{7}});
  CHECK(scene.proposals<command::Start>().size() == 1);
}

TEST_CASE("a started attempt that its own keeper does not know is lost, never run again") {
  NewLeader scene(OnLoss::wait, true);
  scene.open(ana, 11, "k1");
  CHECK(scene.proposals<command::AttemptsLost>().size() == 1);
  CHECK(scene.ordered<to_worker::Start>(ana).empty());
}

TEST_CASE("an attempt that its keeper gave up with its lease is queued again") {
  NewLeader scene(OnLoss::retry, true);
  const JobId job = scene.state.find_attempt(scene.attempt.attempt)->job;
  scene.open(ana, 11, "k1", {}, {scene.ended(scene.attempt, Lost{"its lease"})});
  scene.commit();
  CHECK(scene.state.first_waiting(job));
  CHECK(scene.ordered<to_worker::Acknowledge>(ana) == Fences{scene.attempt});
}

TEST_CASE("only a peer that is out of reach can be forgotten") {
  Scene scene;
  scene.lead();
  scene.bring_up(ana, 10, "k1");
  CHECK(scene.leader.forget(scene.view(), bob).error().code == Code::not_found);
  CHECK(scene.leader.forget(scene.view(), ana).error().code == Code::busy);
}

TEST_CASE("a peer is forgotten at once when nothing runs there under a lease") {
  NewLeader scene;
  scene.wait_until(scene.now_ms + 11'000);
  scene.commit();
  CHECK(scene.leader.forget(scene.view(), ana).ok());
  scene.take();
  CHECK(scene.proposals<command::PeerForgotten>().size() == 1);
  scene.commit();
  CHECK_FALSE(scene.state.find_peer(ana));
}

TEST_CASE("a peer is forgotten only after the leases there are over") {
  NewLeader scene(OnLoss::retry, true);
  scene.wait_until(scene.now_ms + 11'000);
  scene.commit();
  CHECK(scene.leader.forget(scene.view(), ana).ok());
  scene.take();
  CHECK(scene.proposed.empty());
  scene.wait_until(scene.now_ms + 52'000);
  CHECK(scene.proposals<command::LeasesOver>().size() == 1);
  CHECK(scene.proposals<command::PeerForgotten>().empty());
  scene.commit();
  scene.wait_until(scene.now_ms + 1'000);
  CHECK(scene.proposals<command::PeerForgotten>().size() == 1);
}

TEST_CASE("a peer that comes back before its leases are over is not forgotten") {
  NewLeader scene(OnLoss::retry, true);
  scene.wait_until(scene.now_ms + 11'000);
  scene.commit();
  CHECK(scene.leader.forget(scene.view(), ana).ok());
  scene.take();
  scene.open(ana, 11, "k1", {{scene.attempt, Instant{7}}});
  scene.commit();
  scene.wait_until(scene.now_ms + 100'000);
  CHECK(scene.proposals<command::PeerForgotten>().empty());
}

TEST_CASE("a forgotten peer that returns is known again, and what it runs is ended") {
  NewLeader scene(OnLoss::wait, true);
  scene.wait_until(scene.now_ms + 11'000);
  scene.commit();
  CHECK(scene.leader.forget(scene.view(), ana).ok());
  scene.take();
  scene.commit();
  scene.open(ana, 11, "k1", {{scene.attempt, Instant{7}}});
  CHECK(scene.ordered<to_worker::End>(ana) == Fences{scene.attempt});
  scene.tell(ana, 11, 1, scene.ended(scene.attempt, Cancelled{}));
  scene.commit();
  CHECK(scene.state.find_peer(ana));
}
