#include <doctest/doctest.h>

#include <string>

#include "gpl/core/prng.h"
#include "mirrors_scene.h"

using namespace gpl;
using namespace gpl::peer;
using gpl::peer::test::MirrorsScene;

namespace {

struct SmallScene : MirrorsScene {
  SmallScene() {
    cap_bytes = 256 * 1024;
    begin_again();
  }
};

std::string noise(std::size_t bytes) {
  Prng random(7);
  std::string text;
  while (text.size() < bytes) text += static_cast<char>(random.next());
  return text;
}

/// Says all of it in pieces.
void say_all(MirrorsScene& scene, std::uint32_t question, const std::string& text) {
  for (std::size_t at = 0; at < text.size(); at += 32 * 1024)
    scene.say_output(question, text.substr(at, 32 * 1024), at);
}

}  // namespace

TEST_CASE("that an attached client follows is passed on, from the start or when that changes") {
  MirrorsScene scene;
  scene.attached.insert(JobId{1});
  const Fence fence = scene.place();
  const std::uint32_t first = scene.followed();
  CHECK(scene.follows()[0].second.attached);
  scene.say_output(first, "hello");
  scene.until_bytes(fence, 5);
  scene.mirrors->follow({fence, true, 5, 0});
  scene.mirrors->follow({fence, false, 0, 0});
  scene.followed(2);
  CHECK(scene.follows()[1].second.out_bytes == 5);
  CHECK_FALSE(scene.follows()[1].second.attached);
  const auto ended = scene.peer.asked<wire::SignalExec>();
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].second == wire::SignalExec{first, 0});
}

TEST_CASE("a client that attaches in the turn of the placing costs no second question") {
  MirrorsScene scene;
  const Fence fence = scene.place();
  scene.mirrors->follow({fence, true, 0, 0});
  scene.followed();
  run_ready(*scene.loop);
  CHECK(scene.follows().size() == 1);
  CHECK(scene.follows()[0].second.attached);
}

TEST_CASE("what an attached client has not been given is not dropped: the worker has to wait") {
  SmallScene scene;
  const Fence fence = scene.place();
  scene.mirrors->follow({fence, true, 0, 0});
  const std::uint32_t question = scene.followed();
  const std::string text = noise(512 * 1024);
  say_all(scene, question, text);
  scene.until([&] { return scene.taken() > 0; });
  run_ready(*scene.loop);
  const std::uint64_t taken = scene.taken();
  CHECK(taken <= 256 * 1024);
  CHECK(taken == scene.attempt(fence).out_bytes);
  CHECK(scene.content(fence) == text.substr(0, taken));
  scene.peer.say(question, wire::AttemptOver{Exited{0}, {}});
  run_ready(*scene.loop);
  CHECK_FALSE(scene.attempt(fence).outcome);
  scene.mirrors->follow({fence, true, 200 * 1024, 0});
  scene.until([&] { return scene.attempt(fence).out_bytes > taken; });
  CHECK(scene.content(fence).substr(200 * 1024) ==
        text.substr(200 * 1024, scene.attempt(fence).out_bytes - 200 * 1024));
  scene.mirrors->follow({fence, false, 0, 0});
  scene.until_complete(fence);
  CHECK(scene.attempt(fence).out_bytes == text.size());
}

TEST_CASE("of what nobody follows head and tail are kept") {
  SmallScene scene;
  const Fence fence = scene.place();
  const std::uint32_t question = scene.followed();
  const std::string text = noise(1024 * 1024);
  say_all(scene, question, text);
  scene.until([&] { return scene.taken() == text.size(); });
  scene.peer.say(question, wire::AttemptOver{Exited{0}, {}});
  scene.until_complete(fence);
  const std::string kept = scene.content(fence);
  CHECK(kept.size() == text.size());
  CHECK(kept.substr(0, 128 * 1024) == text.substr(0, 128 * 1024));
  CHECK(kept.substr(kept.size() - 32 * 1024) == text.substr(text.size() - 32 * 1024));
  CHECK(kept != text);
}

TEST_CASE("who looks at a copy is told how much there is, whether it has grown or not") {
  MirrorsScene scene;
  const Fence fence = scene.place();
  scene.say_output(scene.followed(), "hello");
  scene.until_bytes(fence, 5);
  const std::uint64_t before = scene.attempt(fence).tellings;
  scene.mirrors->watch({fence, true});
  CHECK(scene.attempt(fence).tellings == before);
  scene.until([&] { return scene.attempt(fence).tellings == before + 1; });
  CHECK(scene.attempt(fence).out_bytes == 5);
}

TEST_CASE("so many are asked for at a time; whom somebody looks at does not wait") {
  MirrorsScene scene;
  scene.most_questions = 2;
  scene.begin_again();
  const Fence first = scene.place();
  scene.place();
  const Fence third = scene.place();
  const Fence fourth = scene.place();
  scene.followed(2);
  run_ready(*scene.loop);
  REQUIRE(scene.follows().size() == 2);
  CHECK(scene.follows()[0].second.attempt == first);
  scene.mirrors->watch({fourth, true});
  scene.followed(3);
  CHECK(scene.follows()[2].second.attempt == fourth);
  for (std::size_t i : {std::size_t{0}, std::size_t{2}})
    scene.peer.say(scene.follows()[i].first, wire::AttemptOver{Exited{0}, {}});
  scene.followed(4);
  CHECK(scene.follows()[3].second.attempt == third);
}

TEST_CASE(
    "of a peer without a link nothing is asked, and what comes of it later is asked at once") {
  MirrorsScene scene;
  scene.down.insert(MirrorsScene::worker);
  for (int i = 0; i < 5; ++i) scene.place();
  run_ready(*scene.loop);
  CHECK(scene.peer.dials == 0);
  scene.down.clear();
  scene.mirrors->peer_is_up(MirrorsScene::worker);
  scene.followed(5);
  CHECK(scene.follows().size() == 5);
}
