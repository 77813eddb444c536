#include "gpl/peer/local_attempts.h"

#include <doctest/doctest.h>

#include <vector>

using namespace gpl;
using namespace gpl::peer;

namespace {

Fence fence(std::uint64_t attempt) { return {1, {attempt}}; }

struct Scene {
  std::vector<JobId> changed;
  LocalAttempts attempts{[this](JobId job) { changed.push_back(job); }};
};

}  // namespace

TEST_CASE(
    "an attempt is known from the order to prepare it, and grows with what the keeper tells") {
  Scene scene;
  scene.attempts.take(wire::from_keeper::Prepare{fence(4), {7}, {0}, ""});
  scene.attempts.take(wire::from_keeper::Running{fence(4), {7}, {0}, 99});
  scene.attempts.take(wire::from_keeper::Grew{fence(4), 10, 2, false});
  const LocalAttempt* attempt = scene.attempts.find(fence(4));
  REQUIRE(attempt != nullptr);
  CHECK(attempt->running);
  CHECK(attempt->out_bytes == 10);
  CHECK(attempt->err_bytes == 2);
  CHECK_FALSE(attempt->output_complete);
  CHECK(scene.changed == std::vector<JobId>{{7}, {7}, {7}});
}

TEST_CASE("older news of the output changes nothing") {
  Scene scene;
  scene.attempts.take(wire::from_keeper::Running{fence(4), {7}, {0}, 99});
  scene.attempts.take(wire::from_keeper::Grew{fence(4), 10, 2, true});
  scene.attempts.take(wire::from_keeper::Grew{fence(4), 5, 1, false});
  CHECK(scene.attempts.find(fence(4))->out_bytes == 10);
  CHECK(scene.attempts.find(fence(4))->output_complete);
}

TEST_CASE("the attempts of a task follow one another in order, other tasks' are passed over") {
  Scene scene;
  scene.attempts.take(wire::from_keeper::Running{fence(9), {7}, {0}, 1});
  scene.attempts.take(wire::from_keeper::Running{fence(4), {7}, {0}, 1});
  scene.attempts.take(wire::from_keeper::Running{fence(5), {7}, {1}, 1});
  scene.attempts.take(wire::from_keeper::Running{fence(6), {8}, {0}, 1});
  const LocalAttempt* first = scene.attempts.next_of({7}, {0}, Fence{});
  REQUIRE(first != nullptr);
  CHECK(first->fence == fence(4));
  CHECK(scene.attempts.next_of({7}, {0}, fence(4))->fence == fence(9));
  CHECK(scene.attempts.next_of({7}, {0}, fence(9)) == nullptr);
  CHECK(scene.attempts.of({7}) == std::vector<Fence>{fence(4), fence(5), fence(9)});
}

TEST_CASE("all are known once the keeper has listed them, and not any more when it is gone") {
  Scene scene;
  CHECK_FALSE(scene.attempts.complete());
  scene.attempts.take(wire::from_keeper::Ended{fence(4), {7}, {0}, Exited{3}, {}});
  scene.attempts.take(wire::from_keeper::Listed{});
  CHECK(scene.attempts.complete());
  CHECK(scene.attempts.find(fence(4))->outcome == Outcome{Exited{3}});
  scene.attempts.keeper_lost();
  CHECK_FALSE(scene.attempts.complete());
}

TEST_CASE("what is discarded is known no more") {
  Scene scene;
  scene.attempts.take(wire::from_keeper::Ended{fence(4), {7}, {0}, Exited{3}, {}});
  scene.attempts.discarded(fence(4));
  CHECK(scene.attempts.find(fence(4)) == nullptr);
  CHECK(scene.attempts.of({7}).empty());
  CHECK(scene.attempts.size() == 0);
}
