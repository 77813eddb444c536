#include "gpl/peer/mirrors.h"

#include <doctest/doctest.h>

#include <fcntl.h>

#include <filesystem>
#include <string>
#include <vector>

#include "gpl/host/skipped_output.h"
#include "mirrors_scene.h"

using namespace gpl;
using namespace gpl::peer;
using gpl::peer::test::MirrorsScene;

namespace {

JobRecord job_of(Submitter submitter) {
  JobRecord job;
  job.submitter = std::move(submitter);
  return job;
}

}  // namespace

TEST_CASE("the peer that took the submit keeps the copy, unless it is the one that runs it") {
  gpl::test::Cluster cluster;
  const PeerId home = gpl::test::lab1;
  const PeerId other = gpl::test::lab2;
  CHECK(keeps_copy(cluster.state, job_of({"", home, 1000}), other) == home);
  CHECK(keeps_copy(cluster.state, job_of({"key", home, 0}), other) == home);
  CHECK_FALSE(keeps_copy(cluster.state, job_of({"", home, 1000}), home));
}

TEST_CASE("of a peer that is no member any more the first other one that is up keeps the copy") {
  gpl::test::Cluster cluster;
  CHECK(keeps_copy(cluster.state, job_of({"", PeerId{99}, 1000}), gpl::test::lab2) ==
        gpl::test::lab1);
}

TEST_CASE("of a client without a peer of its own the first other peer that is up keeps the copy") {
  gpl::test::Cluster cluster;
  const PeerId home = gpl::test::lab1;
  CHECK(keeps_copy(cluster.state, job_of({"key", home, 0}), home) == gpl::test::lab2);
  CHECK(keeps_copy(cluster.state, job_of({"key", PeerId{}, 0}), home) == gpl::test::lab2);
  cluster.fine(cluster.up(PeerId{13}));
  cluster.fine(command::PeerDown{gpl::test::lab2, cluster.now()});
  CHECK(keeps_copy(cluster.state, job_of({"key", home, 0}), home) == PeerId{13});
  cluster.fine(command::PeerDown{PeerId{13}, cluster.now()});
  CHECK_FALSE(keeps_copy(cluster.state, job_of({"key", home, 0}), home));
}

TEST_CASE("an attempt that is placed elsewhere is followed, and is known like one that runs here") {
  MirrorsScene scene;
  const Fence fence = scene.place();
  CHECK(scene.mirrors->has(fence));
  CHECK(scene.attempt(fence).ran_on == MirrorsScene::worker);
  CHECK_FALSE(scene.attempt(fence).output_complete);
  scene.followed();
  const wire::FollowAttempt asked = scene.follows()[0].second;
  CHECK(asked.attempt == fence);
  CHECK(asked.job == scene.job_of(fence));
  CHECK_FALSE(asked.attached);
}

TEST_CASE("what runs here, or is another peer's to copy, is not") {
  MirrorsScene scene;
  const auto placed_on = [&](PeerId peer, Submitter submitter) {
    command::Submit submit = scene.cluster.submit(gpl::test::one_task(),
                                                  {{gpl::test::task(0), peer, gpl::test::cpus(0)}});
    submit.submitter = submitter;
    const AttemptId attempt = scene.cluster.fine(submit).placed.at(0);
    scene.mirrors->placed(scene.cluster.state, attempt);
    return scene.cluster.state.find_attempt(attempt)->fence;
  };
  CHECK_FALSE(scene.mirrors->has(placed_on(MirrorsScene::self, {"", MirrorsScene::self, 1})));
  CHECK_FALSE(scene.mirrors->has(placed_on(MirrorsScene::worker, {"", MirrorsScene::worker, 1})));
  CHECK(scene.mirrors->has(placed_on(MirrorsScene::worker, {"key", MirrorsScene::worker, 0})));
  CHECK(scene.attempts->size() == 1);
}

TEST_CASE("output is put into the copy's files, told, and said to the worker to be taken") {
  MirrorsScene scene;
  const Fence fence = scene.place();
  const std::uint32_t question = scene.followed();
  scene.say_output(question, "hello ");
  scene.say_output(question, "oops", 0, 0, wire::OutputStream::err);
  scene.say_output(question, "world", 6);
  scene.until([&] { return scene.taken() == 15; });
  CHECK(scene.content(fence) == "hello world");
  CHECK(scene.content(fence, "stderr") == "oops");
  CHECK(scene.attempt(fence).out_bytes == 11);
  CHECK(scene.attempt(fence).err_bytes == 4);
  CHECK_FALSE(scene.attempt(fence).output_complete);
}

TEST_CASE("the end is told with its outcome, and then the copy is complete") {
  MirrorsScene scene;
  const Fence fence = scene.place();
  const std::uint32_t question = scene.followed();
  scene.say_output(question, "hello");
  scene.peer.say(question, wire::AttemptOver{Exited{3}, Instant{99}});
  scene.until([&] { return scene.attempt(fence).outcome.has_value(); });
  CHECK(scene.attempt(fence).outcome == Outcome{Exited{3}});
  CHECK(scene.attempt(fence).started_at == Instant{99});
  CHECK(scene.attempt(fence).out_bytes == 5);
  CHECK(scene.attempt(fence).output_complete);
  scene.until_complete(fence);
}

TEST_CASE("a complete copy is told again after a restart, and nobody is asked for it") {
  MirrorsScene scene;
  const Fence fence = scene.place();
  const std::uint32_t question = scene.followed();
  scene.say_output(question, "hello");
  scene.peer.say(question, wire::AttemptOver{Exited{3}, {}});
  scene.until_complete(fence);
  const JobId job = scene.job_of(fence);
  scene.begin_again();
  CHECK(scene.mirrors->is_complete(fence));
  const LocalAttempt& again = scene.attempt(fence);
  CHECK(again.job == job);
  CHECK(again.ran_on == MirrorsScene::worker);
  CHECK(again.out_bytes == 5);
  CHECK(again.output_complete);
  CHECK(again.outcome == Outcome{Exited{3}});
  run_ready(*scene.loop);
  CHECK(scene.follows().size() == 1);
}

TEST_CASE("a copy goes on where it was after a restart") {
  MirrorsScene scene;
  const Fence fence = scene.place();
  scene.say_output(scene.followed(), "hello ");
  scene.until_bytes(fence, 6);
  scene.begin_again();
  CHECK(scene.attempt(fence).out_bytes == 6);
  const std::uint32_t question = scene.followed(2);
  CHECK(scene.follows()[1].second.out_bytes == 6);
  scene.say_output(question, "world", 6);
  scene.peer.say(question, wire::AttemptOver{Exited{0}, {}});
  scene.until_complete(fence);
  CHECK(scene.content(fence) == "hello world");
}

TEST_CASE("a copy goes on where it was after its connection was lost") {
  MirrorsScene scene;
  const Fence fence = scene.place();
  scene.say_output(scene.followed(), "hello ");
  scene.until_bytes(fence, 6);
  scene.down.insert(MirrorsScene::worker);
  scene.peer.hang_up();
  scene.until([&] { return !scene.peer.is_connected(); });
  run_ready(*scene.loop);
  scene.down.clear();
  scene.mirrors->peer_is_up(MirrorsScene::worker);
  const std::uint32_t question = scene.followed(2);
  CHECK(scene.follows()[1].second.out_bytes == 6);
  scene.say_output(question, "world", 6);
  scene.until_bytes(fence, 11);
  CHECK(scene.content(fence) == "hello world");
}

TEST_CASE("a worker that refuses what is under way is asked again, as it may be behind") {
  MirrorsScene scene;
  const Fence fence = scene.place();
  scene.peer.say(scene.followed(), wire::Refused{125, "not yet", {}});
  const std::uint32_t question = scene.followed(2);
  CHECK_FALSE(scene.attempt(fence).outcome);
  scene.end(fence);
  scene.peer.say(question, wire::Refused{125, "not any more", {}});
  scene.until([&] { return scene.attempt(fence).outcome.has_value(); });
  CHECK(std::holds_alternative<Lost>(*scene.attempt(fence).outcome));
  CHECK(scene.attempt(fence).output_complete);
  scene.until_complete(fence);
}

TEST_CASE("what a peer that is gone has told of its attempts is all there will be") {
  MirrorsScene scene;
  const Fence told = scene.place();
  scene.say_output(scene.followed(), "hello");
  scene.until_bytes(told, 5);
  scene.down.insert(MirrorsScene::worker);
  const Fence untold = scene.place();
  run_ready(*scene.loop);
  scene.mirrors->peer_is_gone(MirrorsScene::worker);
  scene.until_complete(told);
  scene.until_complete(untold);
  CHECK(scene.attempt(told).out_bytes == 5);
  CHECK(std::holds_alternative<Lost>(*scene.attempt(told).outcome));
  CHECK(scene.attempt(untold).output_complete);
}

TEST_CASE("of what was skipped on the worker the copy says so too") {
  MirrorsScene scene;
  const Fence fence = scene.place();
  const std::uint32_t question = scene.followed();
  scene.say_output(question, "head");
  scene.say_output(question, "tail", 1000, 996);
  scene.until_bytes(fence, 1004);
  CHECK(scene.content(fence).substr(1000) == "tail");
  posix::Fd folder(::open(scene.mirrors->folder_of(fence).c_str(), O_RDONLY | O_DIRECTORY));
  const auto skipped = host::read_skipped(folder.get());
  REQUIRE(skipped.ok());
  CHECK(skipped.value().of[0] == host::Stretch{4, 1000});
  scene.begin_again();
  scene.followed(2);
  CHECK(scene.follows()[1].second.out_bytes == 1004);
}

TEST_CASE("attempts to copy are found in a whole state, and copies of jobs that are gone removed") {
  MirrorsScene scene;
  const Fence fence = scene.place();
  scene.say_output(scene.followed(), "hello");
  scene.until_bytes(fence, 5);
  const std::string folder = scene.mirrors->folder_of(fence);
  scene.begin_again();
  scene.mirrors->look_all(scene.cluster.state);
  CHECK(scene.mirrors->has(fence));
  scene.stop();
  std::filesystem::remove_all(scene.folder / "mirrors");
  scene.begin();
  CHECK_FALSE(scene.mirrors->has(fence));
  scene.mirrors->look_all(scene.cluster.state);
  CHECK(scene.mirrors->has(fence));
  scene.mirrors->look_all(ClusterState());  // of one that is behind: the job has not come yet
  CHECK(scene.mirrors->has(fence));
  scene.end(fence);
  const Instant now = scene.cluster.now();
  scene.cluster.fine(command::Prune{now, now});
  scene.mirrors->look_all(scene.cluster.state);
  CHECK_FALSE(scene.mirrors->has(fence));
  CHECK(scene.attempts->size() == 0);
  scene.until([&] { return std::filesystem::is_empty(scene.folder / "mirrors"); });
}

TEST_CASE("the copies of a job that is forgotten are removed, and those of others stay") {
  MirrorsScene scene;
  const Fence gone = scene.place();
  const Fence stays = scene.place();
  const std::uint32_t question = scene.followed(2);
  scene.mirrors->forget(scene.job_of(gone));
  CHECK_FALSE(scene.mirrors->has(gone));
  CHECK(scene.attempts->find(gone) == nullptr);
  CHECK(scene.mirrors->has(stays));
  scene.say_output(question, "hello");
  scene.until_bytes(stays, 5);
}
