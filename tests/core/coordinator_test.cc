#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "coordinator_scene.h"
#include "gpl/core/coordinator.h"

using namespace gpl;
using namespace gpl::coordinator_test;

TEST_CASE("before it leads a coordinator says nothing") {
  Scene scene;
  scene.receive(ana, to_leader::Hello{});
  CHECK(scene.sent.empty());
  CHECK_FALSE(scene.leader.wake_at());
}

TEST_CASE("a hello is welcomed, and nothing else follows from it") {
  Scene scene;
  scene.lead();
  scene.receive(ana, to_leader::Hello{SessionId{10}, "k1", {}, {}, {}});
  CHECK(scene.sent == std::vector<AddressedToWorker>{
                          {ana, to_worker::Welcome{SessionId{10}, Leadership{0, 5}, 1}}});
  CHECK(scene.proposed.empty());
  CHECK(scene.leader.ledger().over_at(ana, seconds(30)) == Moment{1'000'000 + 30'000 + 302});
}

TEST_CASE("the first renewal is granted and makes the peer known") {
  Scene scene;
  scene.lead();
  scene.unconfirmed_ms = 70;
  scene.open(ana, 10, "k1");
  CHECK(scene.sent ==
        std::vector<AddressedToWorker>{{ana, to_worker::Granted{SessionId{10}, Leadership{0, 5},
                                                                Moment{42}, milliseconds(70), 0}}});
  CHECK(scene.proposed == std::vector<Command>{command::PeerUp{ana, "k1", offer_named("ana"),
                                                               Instant{scene.now_ms}}});
}

TEST_CASE("a renewal lets the ledger count from its answer") {
  Scene scene;
  scene.lead();
  scene.now_ms += 5'000;
  scene.open(ana, 10, "k1");
  CHECK(scene.leader.ledger().over_at(ana, seconds(60)) == Moment{1'005'000 + 60'000 + 602});
}

TEST_CASE("a peer that is as the state has it is not announced again") {
  Scene scene;
  scene.lead();
  scene.bring_up(ana, 10, "k1");
  scene.open(ana, 11, "k1");
  CHECK(scene.proposed.empty());
}

TEST_CASE("a peer whose offer has changed is announced") {
  Scene scene;
  scene.lead();
  scene.bring_up(ana, 10, "k1");
  PeerOffer offer = offer_named("ana");
  offer.host.cpus = 2;
  scene.receive(ana, to_leader::Hello{SessionId{11}, "k1", offer, {}, {}});
  scene.renew(ana, 11, scene.sent_to<to_worker::Welcome>(ana)[0]);
  REQUIRE(scene.proposals<command::PeerUp>().size() == 1);
  CHECK(scene.proposals<command::PeerUp>()[0].offer == offer);
}

TEST_CASE("what is under way is not proposed again before it is applied, or long overdue") {
  Scene scene;
  scene.lead();
  scene.open(ana, 10, "k1");
  scene.open(ana, 11, "k1");
  CHECK(scene.proposed.size() == 1);
  scene.wait_until(scene.now_ms + 4'999);
  CHECK(scene.proposed.size() == 1);
  scene.wait_until(scene.now_ms + 501);
  CHECK(scene.proposals<command::PeerUp>().size() == 2);
}

TEST_CASE("a renewal in a session that the leader does not have asks for a hello") {
  Scene scene;
  scene.lead();
  scene.renew(ana, 10, {SessionId{10}, Leadership{0, 4}, 3});
  CHECK(scene.sent ==
        std::vector<AddressedToWorker>{{ana, to_worker::Reopen{SessionId{10}, Leadership{0, 5}}}});
}

TEST_CASE("a hello that comes twice does not disturb the session that it opened") {
  Scene scene;
  scene.lead();
  scene.open(ana, 10, "k1");
  const to_worker::Welcome welcome{SessionId{10}, Leadership{0, 5}, 1};
  scene.receive(ana, to_leader::Hello{SessionId{10}, "k1", offer_named("ana"), {}, {}});
  CHECK(scene.sent.empty());
  scene.renew(ana, 10, welcome);
  CHECK(scene.sent_to<to_worker::Granted>(ana).size() == 1);
}

TEST_CASE("a leader that a worker knows to be replaced keeps silent") {
  Scene scene;
  scene.lead();
  scene.renew(ana, 10, {SessionId{10}, Leadership{0, 6}, 1});
  CHECK(scene.sent.empty());
}

TEST_CASE("a placed attempt is ordered to start as soon as that is applied") {
  Scene scene;
  scene.lead();
  scene.bring_up(ana, 10, "k1");
  const Fence attempt = scene.placed_on(ana);
  CHECK(scene.ordered<to_worker::Start>(ana) == Fences{attempt});
  CHECK(scene.sent.size() == 1);
  CHECK(scene.sent_to<to_worker::Order>(ana)[0].number == 1);
}

TEST_CASE("an attempt that was placed while its peer was away is ordered when it is back") {
  NewLeader scene;
  scene.open(ana, 11, "k1");
  CHECK(scene.ordered<to_worker::Start>(ana) == Fences{scene.attempt});
  CHECK(scene.proposed.empty());
}

TEST_CASE("an attempt that the worker knows is not ordered again") {
  NewLeader scene;
  scene.open(ana, 11, "k1", {{scene.attempt, std::nullopt}});
  CHECK(scene.ordered<to_worker::Start>(ana).empty());
}

TEST_CASE("a worker's time of day is not believed beyond what the leader knows") {
  for (const std::int64_t told_ms : {std::int64_t{7}, std::int64_t{1} << 50}) {
    Scene scene;
    scene.lead();
    scene.bring_up(ana, 10, "k1");
    const Fence attempt = scene.placed_on(ana);
    const Instant placed{scene.now_ms};
    scene.now_ms += 500;
    scene.tell(ana, 10, 1, LiveAttempt{attempt, Instant{told_ms}});
    REQUIRE(scene.proposals<command::Start>().size() == 1);
    CHECK(scene.proposals<command::Start>()[0].at ==
          (told_ms == 7 ? placed : Instant{scene.now_ms}));
    scene.commit();
    scene.tell(ana, 10, 2,
               EndedAttempt{attempt, Instant{told_ms}, Exited{0}, Instant{told_ms}, false});
    REQUIRE(scene.proposals<command::Report>().size() == 1);
    CHECK(scene.proposals<command::Report>()[0].at == Instant{scene.now_ms});
  }
}

TEST_CASE("an outcome that cannot be is a loss, and long words are cut") {
  Scene scene;
  scene.lead();
  scene.bring_up(ana, 10, "k1");
  const Fence first = scene.placed_on(ana);
  const Fence second = scene.placed_on(ana);
  scene.tell(ana, 10, 1, scene.ended(first, Exited{300}));
  scene.tell(ana, 10, 2, scene.ended(second, Lost{std::string(70'000, 'x')}));
  const auto reports = scene.proposals<command::Report>();
  REQUIRE(reports.size() == 2);
  CHECK(std::holds_alternative<Lost>(reports[0].outcome));
  CHECK(std::get<Lost>(reports[1].outcome).why == std::string(1024, 'x'));
  scene.commit();
  CHECK(scene.state.attempts_on(ana).empty());
}

TEST_CASE("nothing is placed on a peer that has not been heard") {
  NewLeader scene;
  const JobId job = scene.submit();
  const command::Place place{job, {{TaskId{0}, TaskId{0}}, ana, {1, 0, {}, ""}}, Instant{1}};
  scene.rule_says = {place};
  scene.wait_until(scene.now_ms + 600);
  CHECK(scene.proposals<command::Place>().empty());
  scene.rule_says = {place};
  scene.open(ana, 11, "k1");
  scene.wait_until(scene.now_ms + 600);
  CHECK(scene.proposals<command::Place>().size() == 1);
}

TEST_CASE("that an attempt runs is put into the log once") {
  Scene scene;
  scene.lead();
  scene.bring_up(ana, 10, "k1");
  const Fence attempt = scene.placed_on(ana);
  scene.now_ms += 500;
  const Instant started{scene.now_ms - 200};
  scene.tell(ana, 10, 1, LiveAttempt{attempt, started});
  scene.tell(ana, 10, 1, LiveAttempt{attempt, started});
  CHECK(scene.proposed == std::vector<Command>{command::Start{attempt, started}});
  scene.commit();
  scene.open(ana, 11, "k1", {{attempt, Instant{7}}});
  CHECK(scene.proposed.empty());
}

TEST_CASE("an outcome is acknowledged once it is applied, not before") {
  Scene scene;
  scene.lead();
  scene.bring_up(ana, 10, "k1");
  const Fence attempt = scene.placed_on(ana);
  const JobId job = scene.state.find_attempt(attempt.attempt)->job;
  scene.tell(ana, 10, 1, scene.ended(attempt, Exited{3}));
  CHECK(scene.sent.empty());
  REQUIRE(scene.proposals<command::Report>().size() == 1);
  scene.commit();
  CHECK(scene.ordered<to_worker::Acknowledge>(ana) == Fences{attempt});
  CHECK(scene.outcome_of(job) == Outcome{Exited{3}});
}

TEST_CASE("an outcome that the state has already is acknowledged at once") {
  Scene scene;
  scene.lead();
  scene.bring_up(ana, 10, "k1");
  const Fence attempt = scene.placed_on(ana);
  scene.apply(command::Report{attempt, Exited{0}, Instant{1}});
  scene.open(ana, 11, "k1", {}, {scene.ended(attempt, Exited{0})});
  CHECK(scene.ordered<to_worker::Acknowledge>(ana) == Fences{attempt});
  CHECK(scene.proposed.empty());
}

TEST_CASE("tellings are taken in order, whatever order they arrive in") {
  Scene scene;
  scene.lead();
  scene.bring_up(ana, 10, "k1");
  const Fence attempt = scene.placed_on(ana);
  scene.tell(ana, 10, 2, scene.ended(attempt, Exited{0}));
  CHECK(scene.proposed.empty());
  scene.tell(ana, 10, 1, LiveAttempt{attempt, Instant{7}});
  REQUIRE(scene.proposed.size() == 2);
  CHECK(std::holds_alternative<command::Start>(scene.proposed[0]));
  CHECK(std::holds_alternative<command::Report>(scene.proposed[1]));
}

TEST_CASE("a telling that stays missing ends the session") {
  Scene scene;
  scene.lead();
  scene.open(ana, 10, "k1");
  const to_worker::Welcome welcome{SessionId{10}, Leadership{0, 5}, 1};
  scene.renew(ana, 10, welcome, 1);
  CHECK(scene.sent_to<to_worker::Granted>(ana).size() == 1);
  scene.renew(ana, 10, welcome, 1);
  CHECK(scene.sent_to<to_worker::Reopen>(ana).size() == 1);
  CHECK(scene.sent_to<to_worker::Granted>(ana).empty());
}

TEST_CASE("an attempt that is cancelled is ordered to end, once") {
  Scene scene;
  scene.lead();
  scene.bring_up(ana, 10, "k1");
  const Fence attempt = scene.placed_on(ana);
  const JobId job = scene.state.find_attempt(attempt.attempt)->job;
  scene.sent.clear();
  scene.apply(command::Cancel{job, std::nullopt, Instant{1}});
  CHECK(scene.ordered<to_worker::End>(ana) == Fences{attempt});
  scene.wait_until(scene.now_ms + 3'000);
  CHECK(scene.ordered<to_worker::End>(ana).empty());
}

TEST_CASE("an attempt that was cancelled while its peer was away is ordered to end, not to start") {
  NewLeader scene;
  const JobId job = scene.state.find_attempt(scene.attempt.attempt)->job;
  scene.apply(command::Cancel{job, std::nullopt, Instant{1}});
  scene.open(ana, 11, "k1");
  CHECK(scene.ordered<to_worker::End>(ana) == Fences{scene.attempt});
  CHECK(scene.ordered<to_worker::Start>(ana).empty());
}

TEST_CASE("an attempt that the state does not know is ended, and its outcome forgotten") {
  Scene scene;
  scene.lead();
  const Fence unknown{0, AttemptId{99}};
  scene.open(ana, 10, "k1", {{unknown, Instant{7}}});
  CHECK(scene.ordered<to_worker::End>(ana) == Fences{unknown});
  scene.commit();
  scene.tell(ana, 10, 1, scene.ended(unknown, Cancelled{}));
  CHECK(scene.ordered<to_worker::Acknowledge>(ana) == Fences{unknown});
  CHECK(scene.proposals<command::PeerUp>().size() == scene.proposed.size());
}

TEST_CASE("an attempt of another epoch with a number that is in use is ended") {
  NewLeader scene;
  const Fence stale{7, scene.attempt.attempt};
  scene.open(ana, 11, "k1", {{stale, Instant{7}}});
  CHECK(scene.ordered<to_worker::End>(ana) == Fences{stale});
  CHECK(scene.ordered<to_worker::Start>(ana) == Fences{scene.attempt});
}

TEST_CASE(
    "an attempt whose lease is over is not ordered when its peer is back before that is applied") {
  NewLeader scene(OnLoss::retry);
  scene.wait_until(scene.now_ms + 62'000);
  CHECK(scene.proposals<command::LeasesOver>().size() == 1);
  scene.open(ana, 11, "k1");
  CHECK(scene.ordered<to_worker::Start>(ana).empty());
  scene.commit();
  CHECK(scene.ordered<to_worker::Start>(ana).empty());
  CHECK_FALSE(scene.state.find_attempt(scene.attempt.attempt));
}

TEST_CASE("a new epoch ends all sessions") {
  Scene scene;
  scene.lead();
  scene.bring_up(ana, 10, "k1");
  scene.apply(command::SetEpoch{1, Instant{1}});
  scene.renew(ana, 10, {SessionId{10}, Leadership{0, 5}, 1});
  CHECK(scene.sent ==
        std::vector<AddressedToWorker>{{ana, to_worker::Reopen{SessionId{10}, Leadership{1, 5}}}});
}

TEST_CASE("the placement rule is not asked again before what it placed has been applied") {
  Scene scene;
  scene.lead();
  scene.bring_up(ana, 10, "k1");
  const JobId job = scene.submit();
  const command::Place place{job, {{TaskId{0}, TaskId{0}}, ana, {1, 0, {}, ""}}, Instant{1}};
  scene.rule_says = {place};
  scene.wait_until(scene.now_ms + 20);
  CHECK(scene.proposals<command::Place>() == std::vector<command::Place>{place});
  const int asked = scene.rule_asked;
  scene.submit();
  scene.wait_until(scene.now_ms + 100);
  CHECK(scene.rule_asked == asked);
  scene.commit();
  scene.wait_until(scene.now_ms + 20);
  CHECK(scene.rule_asked == asked + 1);
}

TEST_CASE("a placement rule that has more to look at is asked again soon") {
  Scene scene;
  scene.lead();
  scene.bring_up(ana, 10, "k1");
  scene.wait_until(scene.now_ms + 20);
  const int asked = scene.rule_asked;
  scene.rule_complete = false;
  scene.submit();
  scene.wait_until(scene.now_ms + 100);
  CHECK(scene.rule_asked >= asked + 9);
  CHECK(scene.rule_asked <= asked + 11);
  scene.rule_complete = true;
  scene.wait_until(scene.now_ms + 20);
  const int last = scene.rule_asked;
  scene.wait_until(scene.now_ms + 100);
  CHECK(scene.rule_asked == last);
}

TEST_CASE("the placement rule is not asked while nothing changes") {
  Scene scene;
  scene.lead();
  scene.wait_until(scene.now_ms + 5'000);
  CHECK(scene.rule_asked == 1);
}

TEST_CASE("a leader that stops leading says nothing more") {
  NewLeader scene;
  scene.leader.stopped_leading();
  scene.receive(ana, to_leader::Hello{});
  scene.leader.tick(scene.view());
  scene.take();
  CHECK(scene.sent.empty());
  CHECK(scene.proposed.empty());
  CHECK_FALSE(scene.leader.wake_at());
}
