#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "follower_scene.h"

using namespace gpl;
using namespace gpl::peer;
using gpl::peer::test::task0;
using wire::OutputStream;
using Scene = gpl::peer::test::FollowerScene;

TEST_CASE("a job that was tried twice is told attempt after attempt") {
  Scene scene;
  const JobId job = scene.submit(1);
  const Fence first = scene.run(job);
  scene.follow(job);
  scene.write(first, "first", "");
  scene.end(job, first, Exited{1}, 5);
  CHECK_FALSE(scene.over);
  const Fence second = scene.run(job);
  scene.write(second, "second", "");
  scene.end(job, second, Exited{0}, 6);
  CHECK(scene.out(first) == "first");
  CHECK(scene.out(second) == "second");
  CHECK(scene.told<wire::TaskEnded>() ==
        std::vector{wire::TaskEnded{job, task0, second.attempt, Exited{0}, "lab"}});
  CHECK(scene.over);
}

TEST_CASE("a second attempt waits until the client has the first one's output") {
  Scene scene;
  const JobId job = scene.submit(1);
  const Fence first = scene.run(job);
  const std::string all(wire::follow_window_bytes + 1, 'x');
  scene.write(first, all, "");
  scene.follow(job);
  scene.end(job, first, Exited{1}, all.size());
  const Fence second = scene.run(job);
  scene.write(second, "y", "");
  scene.end(job, second, Exited{0}, 1);
  CHECK(scene.out(second).empty());
  scene.follower->taken(1);
  run_ready(*scene.loop);
  CHECK(scene.out(first) == all);
  CHECK(scene.out(second).empty());
  scene.follower->taken(1);
  // Now its watch is answered, as the keeper does it.
  scene.grew(second, 1, 0, true);
  CHECK(scene.out(second) == "y");
  CHECK(scene.over);
}

TEST_CASE("a client that comes back gets no byte twice") {
  Scene scene;
  const JobId job = scene.submit(1);
  const Fence first = scene.run(job);
  scene.write(first, "first", "err");
  scene.end(job, first, Exited{1}, 5, 3);
  const Fence second = scene.run(job);
  scene.write(second, "second", "");
  wire::Follow again;
  again.job = job;
  again.from = {{task0, first.attempt, OutputStream::out, 5},
                {task0, first.attempt, OutputStream::err, 3},
                {task0, second.attempt, OutputStream::out, 2}};
  scene.follow(again);
  scene.grew(first, 5, 3, true);
  scene.end(job, second, Exited{0}, 6);
  CHECK(scene.out(first).empty());
  CHECK(scene.given(OutputStream::err, first.attempt).empty());
  CHECK(scene.out(second, 2) == "cond");
  CHECK(scene.over);
}

TEST_CASE("an attempt that is discarded while it is followed ends the output, not the question") {
  Scene scene;
  const JobId job = scene.submit();
  const Fence fence = scene.run(job);
  const std::string all(wire::follow_window_bytes + 1, 'x');
  scene.write(fence, all, "");
  scene.follow(job);
  scene.end(job, fence, Exited{0}, all.size());
  CHECK_FALSE(scene.over);
  scene.attempts.discarded(fence);
  run_ready(*scene.loop);
  CHECK(scene.told<wire::JobEnded>().size() == 1);
  CHECK(scene.over);
}

TEST_CASE("nothing is concluded before the keeper has told all that there is") {
  Scene scene;
  const JobId job = scene.submit();
  const Fence fence = scene.run(job);
  scene.write(fence, "kept", "");
  scene.end(job, fence, Exited{0}, 4);
  // The peer is started anew: its keeper has not told the attempt yet.
  scene.attempts.keeper_lost();
  scene.attempts.discarded(fence);
  scene.follow(job);
  CHECK(scene.answers.empty());
  scene.attempts.take(wire::from_keeper::Ended{fence, job, task0, Exited{0}, Instant{2}});
  scene.attempts.take(wire::from_keeper::Listed{});
  run_ready(*scene.loop);
  scene.grew(fence, 4, 0, true);
  CHECK(scene.out(fence) == "kept");
  CHECK(scene.over);
}

TEST_CASE("a job that was cancelled before it began ends as that") {
  Scene scene;
  const JobId job = scene.submit();
  scene.follow(job);
  scene.apply(command::Cancel{job, std::nullopt, Instant{2}});
  run_ready(*scene.loop);
  REQUIRE(scene.answers.size() == 2);
  CHECK(std::get<wire::TaskEnded>(scene.answers[0]) ==
        wire::TaskEnded{job, task0, AttemptId{}, Cancelled{}, "lab"});
  CHECK(std::get<wire::JobEnded>(scene.answers[1]) == wire::JobEnded{job, task0, Cancelled{}});
  CHECK(scene.over);
}

TEST_CASE("a job that is not known any more is refused") {
  Scene scene;
  const JobId job = scene.submit();
  scene.apply(command::Cancel{job, std::nullopt, Instant{2}});
  scene.apply(command::Prune{Instant{3}, Instant{4}});
  scene.follow(job);
  REQUIRE(scene.told<wire::Refused>().size() == 1);
  CHECK(scene.told<wire::Refused>()[0].exit_code == 125);
  CHECK(scene.over);
}

TEST_CASE("a job that has not reached this peer yet is waited for") {
  Scene scene;
  const JobId job{1};
  scene.follow(job);
  CHECK(scene.answers.empty());
  CHECK(scene.submit() == job);
  scene.apply(command::Cancel{job, std::nullopt, Instant{2}});
  run_ready(*scene.loop);
  CHECK(scene.told<wire::JobEnded>() == std::vector{wire::JobEnded{job, task0, Cancelled{}}});
}

TEST_CASE("output that cannot be read is said so, once") {
  Scene scene;
  const JobId job = scene.submit();
  const Fence fence = scene.run(job);
  scene.write(fence, "short", "");
  scene.follow(job);
  scene.grew(fence, 500);  // more than there is
  REQUIRE(scene.told<wire::Refused>().size() == 1);
  CHECK(scene.told<wire::Refused>()[0].message.find("stdout") != std::string::npos);
  CHECK(scene.over);
}

TEST_CASE("an attached client's place is told to the keeper until it goes") {
  Scene scene;
  const JobId job = scene.submit();
  wire::Follow question;
  question.job = job;
  question.attached = true;
  scene.follow(question);
  CHECK(scene.watch.is_attached(job));
  const Fence fence = scene.run(job);
  run_ready(*scene.loop);
  CHECK(scene.watch.is_watched(fence));
  const std::string all(100'000, 'x');
  scene.write(fence, all, "");
  scene.grew(fence, all.size());
  scene.sent.clear();
  scene.follower->taken(all.size());
  CHECK(scene.sent == std::vector<wire::PeerToKeeper>{
                          wire::PeerToKeeper{wire::to_keeper::Follow{fence, true, all.size(), 0}}});
  scene.sent.clear();
  scene.follower.reset();
  CHECK(scene.sent == std::vector<wire::PeerToKeeper>{
                          wire::PeerToKeeper{wire::to_keeper::Follow{fence, false, 0, 0}},
                          wire::PeerToKeeper{wire::to_keeper::Watch{fence, false}}});
  CHECK_FALSE(scene.watch.is_attached(job));
  CHECK(scene.watch.is_abandoned(job));
}

TEST_CASE("a follower that is dropped in the middle hears nothing more") {
  Scene scene;
  const JobId job = scene.submit();
  const Fence fence = scene.run(job);
  scene.follow(job);
  scene.attempts.take(wire::from_keeper::Grew{fence, 5, 0, false});  // due at the end of the turn
  scene.follower.reset();
  run_ready(*scene.loop);
  CHECK(scene.answers.empty());
}
