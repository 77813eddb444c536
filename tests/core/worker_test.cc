#include <doctest/doctest.h>

#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "gpl/core/worker.h"
#include "worker_scene.h"

using namespace gpl;
using namespace gpl::worker_test;

TEST_CASE("a worker begins by telling everything that it knows") {
  const EndedAttempt kept{fence(4), Instant{1}, Exited{3}, Instant{2}, false};
  Scene scene({"k2", SessionId{7}, {}, {{fence(5), OnLoss::wait, {}, Instant{9}}}, {kept}, {}});
  const auto hellos = scene.sent<to_leader::Hello>();
  REQUIRE(hellos.size() == 1);
  CHECK(hellos[0].session == SessionId{7});
  CHECK(hellos[0].keeper == "k2");
  CHECK(hellos[0].live == std::vector<LiveAttempt>{{fence(5), Instant{9}}});
  CHECK(hellos[0].ended == std::vector<EndedAttempt>{kept});
  CHECK(scene.out.send.size() == 1);
}

TEST_CASE("a welcome is answered by asking for a lease, with the leader's own number") {
  Scene scene;
  scene.receive(to_worker::Welcome{scene.session, first_leader, 77});
  REQUIRE(scene.out.send.size() == 1);
  CHECK(scene.sent<to_leader::Renew>() ==
        std::vector<to_leader::Renew>{{scene.session, first_leader, 77, Moment{scene.now_ms}, 0}});
}

TEST_CASE("an unanswered hello is repeated as a new session, ever less often") {
  Scene scene;
  scene.wait_until(scene.now_ms + 2'000);
  CHECK(scene.session == SessionId{101});
  scene.wait_until(scene.now_ms + 3'999);
  CHECK(scene.out.empty());
  scene.wait_until(scene.now_ms + 1);
  CHECK(scene.session == SessionId{102});
  scene.wait_until(scene.now_ms + 4'000);
  CHECK(scene.session == SessionId{103});
}

TEST_CASE("a lease is renewed every two seconds") {
  Scene scene;
  scene.open();
  const std::int64_t opened_ms = scene.now_ms;
  scene.wait_until(opened_ms + 6'000);
  std::vector<Moment> asked;
  for (const auto& renew : scene.sent<to_leader::Renew>()) asked.push_back(renew.asked_at);
  CHECK(asked == std::vector<Moment>{Moment{opened_ms + 2'000}, Moment{opened_ms + 4'000},
                                     Moment{opened_ms + 6'000}});
}

TEST_CASE("an ordered attempt is started, and told when it runs") {
  Scene scene;
  scene.open();
  scene.order(start_of(1));
  CHECK(scene.starts() == Fences{fence(1)});
  CHECK(scene.out.send.empty());
  scene.started(1);
  const auto told = scene.sent<to_leader::Told>();
  REQUIRE(told.size() == 1);
  CHECK(told[0] == to_leader::Told{scene.session, 1, LiveAttempt{fence(1), scene.clocks().at}});
}

TEST_CASE("nothing is started before the session's lease has been granted") {
  Scene scene;
  scene.welcome();
  scene.order(start_of(1));
  CHECK(scene.out.empty());
  scene.grant(Moment{scene.now_ms});
  CHECK(scene.starts() == Fences{fence(1)});
}

TEST_CASE("orders are obeyed in order, whatever order they arrive in, and each once") {
  Scene scene;
  scene.open();
  const to_worker::Order second{scene.session, first_leader, 2, to_worker::End{fence(1)}};
  const to_worker::Order first{scene.session, first_leader, 1, start_of(1)};
  scene.receive(second);
  CHECK(scene.out.empty());
  scene.receive(first);
  CHECK(scene.starts() == Fences{fence(1)});
  CHECK(scene.out.end == Ends{{fence(1), seconds(10)}});
  scene.receive(first);
  scene.receive(second);
  CHECK(scene.out.empty());
}

TEST_CASE("an attempt that is ordered again under another number is not started twice") {
  Scene scene;
  scene.open();
  scene.run(1);
  scene.order(start_of(1));
  CHECK(scene.out.empty());
  scene.ended(1, Exited{0});
  scene.order(start_of(1));
  CHECK(scene.out.empty());
}

TEST_CASE("an outcome is put on disk, told, and kept until it is acknowledged") {
  Scene scene;
  scene.open();
  scene.run(1);
  const Instant started_at = scene.clocks().at;
  scene.now_ms += 500;
  scene.ended(1, Exited{3});
  const EndedAttempt outcome{fence(1), started_at, Exited{3}, scene.clocks().at, false};
  CHECK(scene.out.keep == std::vector<EndedAttempt>{outcome});
  CHECK(scene.told_ended() == std::vector<EndedAttempt>{outcome});

  scene.worker.session_lost(scene.clocks());
  scene.take();
  REQUIRE(scene.sent<to_leader::Hello>().size() == 1);
  CHECK(scene.sent<to_leader::Hello>()[0].ended == std::vector<EndedAttempt>{outcome});
  CHECK(scene.sent<to_leader::Hello>()[0].live.empty());

  scene.open();
  scene.order(to_worker::Acknowledge{fence(1)});
  CHECK(scene.out.forget == Fences{fence(1)});
  scene.now_ms += 200;
  scene.worker.session_lost(scene.clocks());
  scene.take();
  REQUIRE(scene.sent<to_leader::Hello>().size() == 1);
  CHECK(scene.sent<to_leader::Hello>()[0].ended.empty());
}

TEST_CASE("an acknowledged attempt is not started by a start order that comes late") {
  Scene scene;
  scene.open();
  const to_worker::Order late{scene.session, first_leader, 1, start_of(1)};
  scene.run(1);
  scene.ended(1, Exited{0});
  scene.order(to_worker::Acknowledge{fence(1)});
  scene.receive(late);
  CHECK(scene.out.empty());
  scene.now_ms += 200;
  scene.worker.session_lost(scene.clocks());
  scene.take();
  scene.open();
  scene.receive(late);
  CHECK(scene.out.empty());
}

TEST_CASE("what happens between a hello and its welcome is told after the welcome") {
  Scene scene;
  scene.open();
  scene.run(1);
  scene.now_ms += 200;
  scene.worker.session_lost(scene.clocks());
  scene.take();
  scene.ended(1, Exited{0});
  CHECK(scene.out.send.empty());
  CHECK(scene.out.keep.size() == 1);
  scene.welcome();
  CHECK(scene.told_ended().size() == 1);
}

TEST_CASE("orders of a session before are not obeyed") {
  Scene scene;
  scene.open();
  const SessionId before = scene.session;
  scene.now_ms += 200;
  scene.worker.session_lost(scene.clocks());
  scene.take();
  scene.open();
  CHECK(scene.session != before);
  scene.receive(to_worker::Order{before, first_leader, 1, start_of(1)});
  CHECK(scene.out.empty());
}

TEST_CASE("a leader that has been replaced is not heeded any more") {
  Scene scene;
  scene.open(later_leader);
  scene.receive(to_worker::Order{scene.session, first_leader, 1, start_of(1)});
  CHECK(scene.out.empty());
  scene.now_ms += 200;
  scene.worker.session_lost(scene.clocks());
  scene.take();
  scene.welcome(first_leader);
  CHECK(scene.out.empty());
  scene.welcome(later_leader);
  CHECK(scene.sent<to_leader::Renew>().size() == 1);
}

TEST_CASE("a leader of an older epoch is not heeded, whatever its term") {
  Scene scene;
  scene.welcome({1, 2});
  scene.now_ms += 200;
  scene.worker.session_lost(scene.clocks());
  scene.take();
  scene.welcome({0, 900});
  CHECK(scene.out.empty());
}

TEST_CASE("a message of a later leader in a session ends it, and is not obeyed") {
  Scene scene;
  scene.open();
  scene.now_ms += 200;
  scene.receive(to_worker::Order{scene.session, later_leader, 1, start_of(1)});
  CHECK(scene.out.start.empty());
  CHECK(scene.sent<to_leader::Hello>().size() == 1);
  CHECK(scene.session == SessionId{101});
}

TEST_CASE("a session is opened anew when the leader asks for it") {
  Scene scene;
  scene.open();
  scene.now_ms += 200;
  scene.receive(to_worker::Reopen{SessionId{99}, first_leader});
  CHECK(scene.out.empty());
  scene.receive(to_worker::Reopen{scene.session, first_leader});
  CHECK(scene.sent<to_leader::Hello>().size() == 1);
}

TEST_CASE("hellos keep a distance, so that no quarrel floods the network") {
  Scene scene;
  scene.open();
  scene.receive(to_worker::Reopen{scene.session, first_leader});
  scene.worker.session_lost(scene.clocks());
  scene.take();
  CHECK(scene.out.empty());
  scene.wait_until(scene.now_ms + 100);
  CHECK(scene.sent<to_leader::Hello>().size() == 1);
}

TEST_CASE("an order that stays missing ends the session") {
  Scene scene;
  scene.open();
  const auto granted = [&] {
    return to_worker::Granted{scene.session, first_leader, Moment{scene.now_ms}, no_time, 1};
  };
  scene.now_ms += 2'000;
  scene.receive(granted());
  CHECK(scene.sent<to_leader::Hello>().empty());
  scene.now_ms += 2'000;
  scene.receive(granted());
  CHECK(scene.sent<to_leader::Hello>().size() == 1);
}

TEST_CASE("a session without renewals is given up after ten seconds") {
  Scene scene;
  scene.open();
  const SessionId before = scene.session;
  scene.wait_until(scene.now_ms + 9'999);
  CHECK(scene.session == before);
  scene.wait_until(scene.now_ms + 1);
  CHECK(scene.session != before);
}

TEST_CASE("attempts placed together run one after the other") {
  Scene scene;
  scene.open();
  for (const std::uint64_t number : {1u, 2u, 3u}) {
    to_worker::Start order = start_of(number);
    order.slot = AttemptId{1};
    scene.order(order);
    CHECK(scene.starts() == (number == 1 ? Fences{fence(1)} : Fences{}));
  }
  scene.started(1);
  CHECK(scene.out.start.empty());
  scene.order(to_worker::End{fence(2)});
  CHECK(scene.told_ended() ==
        std::vector<EndedAttempt>{{fence(2), std::nullopt, Cancelled{}, scene.clocks().at, false}});
  scene.ended(1, Exited{0});
  CHECK(scene.starts() == Fences{fence(3)});
}

TEST_CASE("attempts that wait for their turn are begun without contact too") {
  Scene scene;
  scene.open();
  for (const std::uint64_t number : {1u, 2u}) {
    to_worker::Start order = start_of(number);
    order.slot = AttemptId{1};
    scene.order(order);
  }
  scene.wait_until(scene.now_ms + 3'600'000);
  scene.ended(1, Exited{0});
  CHECK(scene.starts() == Fences{fence(2)});
}

TEST_CASE("an attempt that is ordered to end has been cancelled, however it ends") {
  Scene scene;
  scene.open();
  scene.run(1);
  scene.order(to_worker::End{fence(1)});
  CHECK(scene.out.end == Ends{{fence(1), seconds(10)}});
  scene.order(to_worker::End{fence(1)});
  CHECK(scene.out.empty());
  scene.ended(1, Signalled{15, false});
  REQUIRE(scene.told_ended().size() == 1);
  CHECK(scene.told_ended()[0].outcome == Outcome{Cancelled{15}});
}

TEST_CASE("an attempt that never came here and is to end has been cancelled, and never begins") {
  Scene scene;
  scene.open();
  scene.order(to_worker::End{fence(1)});
  REQUIRE(scene.told_ended().size() == 1);
  CHECK(scene.told_ended()[0].outcome == Outcome{Cancelled{}});
  CHECK(scene.out.keep.size() == 1);
  scene.order(start_of(1));
  CHECK(scene.out.empty());
}

TEST_CASE("an attempt that failed to start is told as such") {
  Scene scene;
  scene.open();
  scene.order(start_of(1));
  scene.ended(1, FailedToStart{2, 127, "no such command"});
  REQUIRE(scene.told_ended().size() == 1);
  CHECK(scene.told_ended()[0].outcome == Outcome{FailedToStart{2, 127, "no such command"}});
  CHECK_FALSE(scene.told_ended()[0].started_at);
}

TEST_CASE("a changed offer is told in a new hello") {
  Scene scene;
  scene.open();
  scene.now_ms += 200;
  PeerOffer offer;
  offer.name = "lab2";
  scene.worker.offer_changed(scene.clocks(), offer);
  scene.take();
  REQUIRE(scene.sent<to_leader::Hello>().size() == 1);
  CHECK(scene.sent<to_leader::Hello>()[0].offer == offer);
}
