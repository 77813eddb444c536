// Copies of the output of attempts whose workers say nothing more.
#include <doctest/doctest.h>

#include <string>
#include <variant>

#include "mirrors_scene.h"

using namespace gpl;
using gpl::peer::test::MirrorsScene;

namespace {

/// Placed, and five bytes of its output have come. `count`: as many copies there are then.
Fence with_output(MirrorsScene& scene, std::size_t count = 1) {
  const Fence fence = scene.place();
  scene.say_output(scene.followed(count), "hello");
  scene.until_bytes(fence, 5);
  return fence;
}
bool is_given_up(MirrorsScene& scene, const Fence& fence) {
  run_ready(*scene.loop);
  const auto& outcome = scene.attempt(fence).outcome;
  return outcome && std::holds_alternative<Lost>(*outcome);
}

}  // namespace

TEST_CASE("an attempt that ends without its worker's word is as complete as it will be") {
  MirrorsScene scene;
  const Fence fence = with_output(scene);
  scene.under_way.erase(fence);
  scene.mirrors->lost(fence);
  scene.until_complete(fence);
  CHECK(is_given_up(scene, fence));
  CHECK(scene.content(fence) == "hello");
}

TEST_CASE("what the worker has said to have ended is waited for, also while it is away") {
  MirrorsScene scene;
  const Fence fence = with_output(scene);
  scene.mirrors->reported(fence);
  scene.under_way.erase(fence);
  scene.mirrors->lost(fence);
  scene.mirrors->peer_is_down(MirrorsScene::worker);
  CHECK_FALSE(is_given_up(scene, fence));
  CHECK_FALSE(scene.mirrors->is_complete(fence));
  scene.say_output(scene.followed(), " world", 5);
  scene.peer.say(scene.followed(), wire::AttemptOver{Exited{3}, Instant{7}});
  scene.until_complete(fence);
  CHECK(scene.content(fence) == "hello world");
  CHECK(scene.attempt(fence).outcome == Outcome{Exited{3}});
}

TEST_CASE("of a worker that is away what is still under way goes on, and the rest is given up") {
  MirrorsScene scene;
  const Fence goes_on = with_output(scene);
  const Fence over = with_output(scene, 2);
  scene.under_way.erase(over);
  scene.mirrors->peer_is_down(gpl::PeerId{99});
  CHECK_FALSE(is_given_up(scene, over));
  scene.mirrors->peer_is_down(MirrorsScene::worker);
  CHECK(is_given_up(scene, over));
  CHECK_FALSE(is_given_up(scene, goes_on));
}

TEST_CASE("what ended while this peer was away, on a worker that is away, is given up at start") {
  MirrorsScene scene;
  const Fence fence = with_output(scene);
  scene.stop();
  scene.end(fence);
  scene.begin();
  scene.mirrors->look_all(scene.cluster.state);
  CHECK_FALSE(is_given_up(scene, fence));  // the worker can still be asked
  scene.cluster.fine(command::PeerDown{MirrorsScene::worker, scene.cluster.now()});
  scene.mirrors->look_all(scene.cluster.state);
  CHECK(is_given_up(scene, fence));
}
