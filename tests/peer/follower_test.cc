#include "gpl/peer/follower.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "follower_scene.h"
#include "gpl/host/skipped_output.h"
#include "gpl/posix/file.h"

using namespace gpl;
using namespace gpl::peer;
using gpl::peer::test::task0;
using wire::OutputStream;
using Scene = gpl::peer::test::FollowerScene;

TEST_CASE("a follower gives what a job writes as it comes, then how it ended") {
  Scene scene;
  const JobId job = scene.submit();
  scene.follow(job);
  CHECK(scene.answers.empty());
  const Fence fence = scene.run(job);
  run_ready(*scene.loop);
  scene.write(fence, "one\n", "");
  scene.grew(fence, 4);
  CHECK(scene.out(fence) == "one\n");
  scene.write(fence, "one\ntwo\n", "oh\n");
  scene.end(job, fence, Exited{3}, 8, 3);
  CHECK(scene.out(fence) == "one\ntwo\n");
  CHECK(scene.given(OutputStream::err, fence.attempt) == "oh\n");
  REQUIRE(scene.answers.size() >= 2);
  CHECK(std::get<wire::TaskEnded>(scene.answers[scene.answers.size() - 2]) ==
        wire::TaskEnded{job, task0, fence.attempt, Exited{3}, "lab"});
  CHECK(std::get<wire::JobEnded>(scene.answers.back()) == wire::JobEnded{job, task0, Exited{3}});
  CHECK(scene.over);
}

TEST_CASE("no further word comes after the last one") {
  Scene scene;
  const JobId job = scene.submit();
  const Fence fence = scene.run(job);
  scene.follow(job);
  scene.end(job, fence, Exited{0}, 0);
  CHECK(scene.over);
  const std::size_t count = scene.answers.size();
  scene.news.changed(job);
  scene.follower->taken(100);
  run_ready(*scene.loop);
  CHECK(scene.answers.size() == count);
}

TEST_CASE("the job's end waits for the output, whichever is told first") {
  Scene scene;
  const JobId job = scene.submit();
  const Fence fence = scene.run(job);
  scene.follow(job);
  scene.write(fence, "late", "");
  scene.apply(command::Start{fence, Instant{2}});
  scene.apply(command::Report{fence, Exited{0}, Instant{3}, false});
  run_ready(*scene.loop);
  CHECK(scene.answers.empty());
  scene.grew(fence, 4, 0, true);  // and its own end is not told yet
  CHECK(scene.out(fence) == "late");
  CHECK_FALSE(scene.over);
  scene.attempts.take(wire::from_keeper::Ended{fence, job, task0, Exited{0}, Instant{2}});
  run_ready(*scene.loop);
  CHECK(scene.over);
  CHECK(scene.told<wire::JobEnded>() == std::vector{wire::JobEnded{job, std::nullopt, Exited{0}}});
}

TEST_CASE("no more than a window is on its way, and nothing is lost by that") {
  Scene scene;
  const JobId job = scene.submit();
  const Fence fence = scene.run(job);
  std::string all(wire::follow_window_bytes + 1000, 'a');
  for (std::size_t i = 0; i < all.size(); i += 100) all[i] = static_cast<char>('a' + i / 100 % 26);
  scene.write(fence, all, "");
  scene.follow(job);
  scene.end(job, fence, Exited{0}, all.size());
  CHECK(scene.out(fence).size() == wire::follow_window_bytes);
  CHECK_FALSE(scene.over);
  scene.follower->taken(400);
  run_ready(*scene.loop);
  CHECK(scene.out(fence).size() == wire::follow_window_bytes + 400);
  CHECK_FALSE(scene.over);
  scene.follower->taken(wire::follow_window_bytes);
  run_ready(*scene.loop);
  CHECK(scene.out(fence) == all);
  CHECK(scene.over);
}

TEST_CASE("a client that takes more than it was given gains nothing") {
  Scene scene;
  const JobId job = scene.submit();
  const Fence fence = scene.run(job);
  scene.follow(job);
  scene.follower->taken(std::uint64_t{1} << 60U);
  const std::string all(wire::follow_window_bytes + 1000, 'a');
  scene.write(fence, all, "");
  scene.grew(fence, all.size());
  CHECK(scene.out(fence).size() == wire::follow_window_bytes);
}

TEST_CASE("without following what there is now is given, and that was all") {
  Scene scene;
  const JobId job = scene.submit();
  const Fence fence = scene.run(job);
  scene.write(fence, "so far", "");
  wire::Follow question;
  question.job = job;
  question.live = false;
  scene.follow(question);
  CHECK_FALSE(scene.over);  // how much there is the keeper has not told yet
  CHECK(std::get<wire::to_keeper::Watch>(scene.sent.back()) == wire::to_keeper::Watch{fence, true});
  scene.grew(fence, 6);
  CHECK(scene.out(fence) == "so far");
  CHECK(std::holds_alternative<wire::Done>(scene.answers.back()));
  CHECK(scene.over);
  CHECK(std::get<wire::to_keeper::Watch>(scene.sent.back()) ==
        wire::to_keeper::Watch{fence, false});
}

TEST_CASE("without following a job that has no output yet is told as that") {
  Scene scene;
  const JobId job = scene.submit();
  wire::Follow question;
  question.job = job;
  question.live = false;
  scene.follow(question);
  REQUIRE(scene.answers.size() == 1);
  CHECK(std::holds_alternative<wire::Done>(scene.answers[0]));
  CHECK(scene.over);
}

TEST_CASE("what was dropped while nobody followed is passed over, and said") {
  Scene scene;
  const JobId job = scene.submit();
  const Fence fence = scene.run(job);
  scene.write(fence, "headxxxxtail", "");
  {
    const auto opened = posix::open_folder(scene.folder / Scene::name(fence));
    REQUIRE(opened.ok());
    const auto file = host::make_skipped(opened.value().get());
    REQUIRE(file.ok());
    host::SkippedOutput skipped;
    skipped.of[0] = {4, 8};
    REQUIRE(host::write_skipped(file.value().get(), skipped).ok());
  }
  scene.follow(job);
  scene.end(job, fence, Exited{0}, 12);
  CHECK(scene.told<wire::Output>() ==
        std::vector{wire::Output{{task0, fence.attempt, OutputStream::out, 0}, "head", 0},
                    wire::Output{{task0, fence.attempt, OutputStream::out, 8}, "tail", 4}});
  CHECK(scene.over);
}
