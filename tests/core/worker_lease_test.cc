// What a worker does about leases, contact and its own being stopped.
#include <doctest/doctest.h>

#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "gpl/core/worker.h"
#include "worker_scene.h"

using namespace gpl;
using namespace gpl::worker_test;

TEST_CASE("without contact an attempt with on-loss wait goes on") {
  Scene scene;
  scene.open();
  scene.run(1);
  scene.wait_until(scene.now_ms + 24 * 3'600'000);
  CHECK(scene.out.end.empty());
  CHECK(scene.worker.live() == Fences{fence(1)});
}

TEST_CASE("an attempt under a lease is ended in time for its grace and the kill") {
  Scene scene;
  scene.open();
  scene.run(1, OnLoss::retry);
  const std::int64_t renewed_ms = scene.now_ms;
  scene.wait_until(renewed_ms + 60'000 - 15'000 - 1);
  CHECK(scene.out.end.empty());
  scene.wait_until(renewed_ms + 60'000 - 15'000);
  CHECK(scene.out.end == Ends{{fence(1), seconds(10)}});
  scene.wait_until(renewed_ms + 59'000);
  CHECK(scene.out.end.empty());
  scene.ended(1, Signalled{9, false});
  REQUIRE(scene.out.keep.size() == 1);
  CHECK(std::holds_alternative<Lost>(scene.out.keep[0].outcome));
  CHECK_FALSE(scene.out.keep[0].outlived_lease);
}

TEST_CASE("renewals keep an attempt under a lease going") {
  Scene scene;
  scene.open();
  scene.run(1, OnLoss::retry);
  for (int i = 0; i < 100; ++i) {
    scene.wait_until(scene.now_ms + 2'000);
    CHECK(scene.out.end.empty());
    scene.grant(Moment{scene.now_ms});
  }
}

TEST_CASE("an answer that was long under way renews from when it was asked for") {
  Scene scene;
  scene.open();
  scene.run(1, OnLoss::retry);
  const std::int64_t asked_ms = scene.now_ms;
  scene.wait_until(asked_ms + 8'000);
  scene.grant(Moment{asked_ms + 1'000});
  CHECK(scene.worker.lease().renewed_at() == Moment{asked_ms + 1'000});
}

TEST_CASE("a renewal that comes once an attempt is being ended does not save it") {
  Scene scene;
  scene.open();
  scene.run(1, OnLoss::retry);
  scene.wait_until(scene.now_ms + 45'000);
  CHECK(scene.out.end.size() == 1);
  scene.open();
  scene.ended(1, Exited{0});
  REQUIRE(scene.told_ended().size() == 1);
  CHECK(std::holds_alternative<Lost>(scene.told_ended()[0].outcome));
}

TEST_CASE("an attempt that waits for its turn is given up with its lease") {
  Scene scene;
  scene.open();
  for (const std::uint64_t number : {1u, 2u}) {
    to_worker::Start order = start_of(number, OnLoss::retry);
    order.slot = AttemptId{1};
    scene.order(order);
  }
  scene.wait_until(scene.now_ms + 45'000);
  CHECK(scene.out.end == Ends{{fence(1), seconds(10)}});
  REQUIRE(scene.out.keep.size() == 1);
  CHECK(scene.out.keep[0].fence == fence(2));
  CHECK(std::holds_alternative<Lost>(scene.out.keep[0].outcome));
  scene.ended(1, Exited{0});
  CHECK(scene.out.start.empty());
}

TEST_CASE("an order that a stopped worker finds when it wakes is not obeyed") {
  Scene scene;
  scene.open();
  const to_worker::Order order{scene.session, first_leader, 1, start_of(1, OnLoss::retry)};
  scene.now_ms += 200'000;
  scene.receive(order);
  CHECK(scene.out.start.empty());
  CHECK(scene.sent<to_leader::Hello>().size() == 1);
}

TEST_CASE("a worker that was stopped through the end of a lease kills at once, and says so") {
  Scene scene;
  scene.open();
  scene.run(1, OnLoss::retry);
  scene.now_ms += 300'000;
  scene.worker.tick(scene.clocks());
  scene.take();
  CHECK(scene.out.end == Ends{{fence(1), no_time}});
  scene.now_ms += 10;
  scene.ended(1, Signalled{9, false});
  REQUIRE(scene.out.keep.size() == 1);
  CHECK(scene.out.keep[0].outlived_lease);
  CHECK(std::holds_alternative<Lost>(scene.out.keep[0].outcome));
}

TEST_CASE("that an attempt outlived its lease is not forgotten with the next lease") {
  Scene scene;
  scene.open();
  scene.run(1, OnLoss::retry);
  scene.order(to_worker::End{fence(1)});
  scene.now_ms += 300'000;
  scene.worker.tick(scene.clocks());
  scene.take();
  scene.open();
  scene.ended(1, Signalled{9, false});
  REQUIRE(scene.out.keep.size() == 1);
  CHECK(scene.out.keep[0].outlived_lease);
}

TEST_CASE("an end that is first seen after the lease keeps its outcome, and counts as late") {
  Scene scene;
  scene.open();
  scene.run(1, OnLoss::retry);
  scene.now_ms += 300'000;
  scene.ended(1, Exited{0});
  REQUIRE(scene.out.keep.size() == 1);
  CHECK(scene.out.keep[0].outlived_lease);
  CHECK(scene.out.keep[0].outcome == Outcome{Exited{0}});
  CHECK(scene.out.end.empty());
}

TEST_CASE("a process that the kernel could not kill in time has outlived its lease") {
  Scene scene;
  scene.open();
  scene.run(1, OnLoss::retry);
  scene.wait_until(scene.now_ms + 60'000);
  scene.ended(1, Signalled{9, false});
  REQUIRE(scene.out.keep.size() == 1);
  CHECK(scene.out.keep[0].outlived_lease);
}

TEST_CASE("a new keeper ends what is left under leases that it does not know") {
  Scene scene(
      {"k2", SessionId{500}, {}, {{fence(1), OnLoss::retry, seconds(60), Instant{1}}}, {}, {}});
  scene.wait_until(scene.now_ms);
  CHECK(scene.out.end == Ends{{fence(1), no_time}});
  scene.ended(1, Lost{"its keeper ended"});
  REQUIRE(scene.out.keep.size() == 1);
  CHECK(scene.out.keep[0].outlived_lease);
}
