#include "gpl/peer/output_watch.h"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

using namespace gpl;
using namespace gpl::peer;

namespace {

constexpr std::uint64_t much = 1024 * 1024;
const Fence attempt{1, {4}};

struct Scene {
  std::vector<wire::PeerToKeeper> sent;
  OutputWatch watch{[this](const wire::PeerToKeeper& message) { sent.push_back(message); }};

  std::vector<wire::PeerToKeeper> take() { return std::exchange(sent, {}); }
};

wire::PeerToKeeper watches(bool on) { return wire::to_keeper::Watch{attempt, on}; }
wire::PeerToKeeper follows(std::uint64_t out, std::uint64_t err) {
  return wire::to_keeper::Follow{attempt, true, out, err};
}
wire::PeerToKeeper follows_no_more() { return wire::to_keeper::Follow{attempt, false, 0, 0}; }

}  // namespace

TEST_CASE("the keeper tells of an output as long as somebody looks at it") {
  Scene scene;
  const auto first = scene.watch.begin(attempt, false, {});
  CHECK(scene.take() == std::vector{watches(true)});
  const auto second = scene.watch.begin(attempt, false, {});
  scene.take();
  scene.watch.end(first);
  CHECK(scene.take().empty());
  scene.watch.end(second);
  CHECK(scene.take() == std::vector{watches(false)});
}

TEST_CASE("what an attached client has not been given must be kept") {
  Scene scene;
  const auto client = scene.watch.begin(attempt, true, {5, 6});
  CHECK(scene.take() == std::vector{follows(5, 6), watches(true)});
  scene.watch.given(client, {much, 6});
  CHECK(scene.take() == std::vector{follows(much, 6)});
  scene.watch.end(client);
  CHECK(scene.take() == std::vector{follows_no_more(), watches(false)});
}

TEST_CASE("the slowest of several attached clients counts") {
  Scene scene;
  const auto fast = scene.watch.begin(attempt, true, {});
  const auto slow = scene.watch.begin(attempt, true, {});
  scene.take();
  scene.watch.given(fast, {3 * much, 0});
  CHECK(scene.take().empty());
  scene.watch.given(slow, {much, 0});
  CHECK(scene.take() == std::vector{follows(much, 0)});
  scene.watch.end(slow);
  CHECK(scene.take() == std::vector{follows(3 * much, 0)});
}

TEST_CASE("small steps are not worth a message each") {
  Scene scene;
  const auto client = scene.watch.begin(attempt, true, {});
  scene.take();
  scene.watch.given(client, {100, 0});
  CHECK(scene.take().empty());
}

TEST_CASE("a new keeper is told all anew") {
  Scene scene;
  (void)scene.watch.begin(attempt, true, {7, 0});
  scene.take();
  scene.watch.tell_all();
  CHECK(scene.take() == std::vector{follows(7, 0), watches(true)});
}

TEST_CASE("a job is abandoned once the last attached client is gone, until it ends") {
  Scene scene;
  const JobId job{3};
  CHECK_FALSE(scene.watch.is_abandoned(job));
  scene.watch.attach(job);
  scene.watch.attach(job);
  scene.watch.detach(job);
  CHECK(scene.watch.is_attached(job));
  CHECK_FALSE(scene.watch.is_abandoned(job));
  scene.watch.detach(job);
  CHECK(scene.watch.is_abandoned(job));
  scene.watch.forget(job);
  CHECK_FALSE(scene.watch.is_abandoned(job));
}
