#include "gpl/peer/attempt_follower.h"

#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "../net/run_until.h"
#include "../temporary_folder.h"

using namespace gpl;
using namespace gpl::peer;
using wire::OutputStream;

namespace {

constexpr JobId job{5};
constexpr TaskId task{0};
constexpr Fence fence{2, AttemptId{9}};

/// The attempts here, what the keeper is told, and one follower of one attempt.
struct Scene {
  TemporaryFolder folder;
  std::unique_ptr<net::Loop> loop = make_loop();
  JobNews news{*loop};
  LocalAttempts attempts{[this](JobId changed) { news.changed(changed); }};
  std::vector<wire::PeerToKeeper> sent;
  OutputWatch watch{[this](const wire::PeerToKeeper& message) { sent.push_back(message); }};
  bool job_has_ended = false;
  std::vector<wire::Answer> answers;
  bool over = false;
  std::unique_ptr<AttemptFollower> follower;

  void follow(std::uint64_t out_from = 0, std::uint64_t err_from = 0, bool attached = false) {
    follower = std::make_unique<AttemptFollower>(
        *loop,
        AttemptFollower::Around{attempts, news, watch,
                                [this](const Fence&) { return folder / "attempt"; },
                                [this](JobId) { return job_has_ended; }},
        wire::FollowAttempt{fence, job, task, out_from, err_from, attached},
        AttemptFollower::Told{[this](wire::Answer answer) { answers.push_back(std::move(answer)); },
                              [this] { over = true; }});
    follower->start();
    run_ready(*loop);
  }
  void write(const std::string& out, const std::string& err = "") const {
    folder.write("attempt/stdout", out);
    folder.write("attempt/stderr", err);
  }
  /// As the keeper tells of it.
  void begin() {
    write("");
    attempts.take(wire::from_keeper::Prepare{fence, job, task, ""});
    attempts.take(wire::from_keeper::Running{fence, job, task, 77});
    run_ready(*loop);
  }
  void grew(std::uint64_t out, std::uint64_t err = 0, bool ended = false) {
    attempts.take(wire::from_keeper::Grew{fence, out, err, ended});
    run_ready(*loop);
  }
  void end(Outcome outcome, std::uint64_t out, std::uint64_t err = 0) {
    attempts.take(wire::from_keeper::Ended{fence, job, task, outcome, Instant{2}});
    grew(out, err, true);
  }
  std::string given(OutputStream stream = OutputStream::out) const {
    std::string bytes;
    for (const wire::Answer& answer : answers)
      if (const auto* output = std::get_if<wire::Output>(&answer))
        if (output->at.stream == stream) bytes += output->data;
    return bytes;
  }
  std::vector<wire::to_keeper::Watch> watches() const {
    std::vector<wire::to_keeper::Watch> some;
    for (const wire::PeerToKeeper& message : sent)
      if (const auto* one = std::get_if<wire::to_keeper::Watch>(&message)) some.push_back(*one);
    return some;
  }
};

}  // namespace

TEST_CASE("an attempt is not watched before the keeper has told of it") {
  Scene scene;
  scene.follow();
  CHECK(scene.sent.empty());  // a keeper forgets a Watch of what it does not know
  CHECK(scene.answers.empty());
  scene.begin();
  CHECK(scene.watches() == std::vector{wire::to_keeper::Watch{fence, true}});
  scene.write("hello");
  scene.grew(5);
  CHECK(scene.given() == "hello");
  CHECK_FALSE(scene.over);
}

TEST_CASE("an attempt's output is told from where the asker is, and then how it ended") {
  Scene scene;
  scene.begin();
  scene.write("onetwo", "warn");
  scene.follow(3, 1);
  scene.end(Exited{4}, 6, 4);
  CHECK(scene.given() == "two");
  CHECK(scene.given(OutputStream::err) == "arn");
  REQUIRE(!scene.answers.empty());
  CHECK(std::get<wire::AttemptOver>(scene.answers.back()) ==
        wire::AttemptOver{Outcome{Exited{4}}, Instant{2}});
  CHECK(scene.over);
  CHECK(scene.follower->told_all());
}

TEST_CASE("its end waits for its output, whichever the keeper tells first") {
  Scene scene;
  scene.begin();
  scene.follow();
  scene.write("late");
  scene.attempts.take(wire::from_keeper::Ended{fence, job, task, Exited{0}, Instant{2}});
  run_ready(*scene.loop);
  CHECK(scene.answers.empty());
  scene.grew(4, 0, true);
  CHECK(scene.given() == "late");
  CHECK(scene.over);
}

TEST_CASE("an attempt is told no faster than the asker hands it on") {
  Scene scene;
  scene.begin();
  const std::string all(wire::follow_window_bytes + 1000, 'x');
  scene.write(all);
  scene.follow();
  scene.end(Exited{0}, all.size());
  CHECK(scene.given().size() == wire::follow_window_bytes);
  CHECK_FALSE(scene.over);
  CHECK_FALSE(scene.follower->told_all());
  scene.follower->taken(wire::follow_window_bytes);
  run_ready(*scene.loop);
  CHECK(scene.given() == all);
  CHECK(scene.over);
}

TEST_CASE("an attempt that was discarded is refused, at once or when that happens") {
  Scene scene;
  SUBCASE("before it was asked for, and its job has ended") {
    scene.attempts.take(wire::from_keeper::Listed{});
    scene.job_has_ended = true;
    scene.follow();
  }
  SUBCASE("while it was followed") {
    scene.begin();
    scene.follow();
    CHECK(scene.answers.empty());
    scene.attempts.discarded(fence);
    run_ready(*scene.loop);
  }
  REQUIRE(scene.answers.size() == 1);
  CHECK(std::get<wire::Refused>(scene.answers[0]).exit_code == 125);
  CHECK(scene.over);
  CHECK_FALSE(scene.follower->told_all());
}

TEST_CASE(
    "one whose order has not arrived is waited for, and one of a keeper that has not listed") {
  Scene scene;
  SUBCASE("the job has not ended") { scene.attempts.take(wire::from_keeper::Listed{}); }
  SUBCASE("the keeper has not told all") { scene.job_has_ended = true; }
  scene.follow();
  CHECK(scene.answers.empty());
  scene.begin();
  scene.end(Exited{0}, 0);
  CHECK(scene.answers.size() == 1);
  CHECK(scene.over);
}

TEST_CASE("output of an attempt that cannot be read is said so, once") {
  Scene scene;
  scene.begin();
  scene.write("short");
  scene.follow();
  scene.grew(500);
  scene.grew(501);
  REQUIRE(scene.answers.size() == 2);  // what there is, and why no more
  CHECK(std::get<wire::Refused>(scene.answers[1]).message.find("stdout") != std::string::npos);
  CHECK(scene.over);
}

TEST_CASE("the keeper drops nothing of an attempt that an attached asker has not handed on") {
  Scene scene;
  scene.follow(0, 0, true);
  CHECK(scene.watch.is_attached(job));  // before it begins: the job may end at its cap at once
  scene.begin();
  CHECK(scene.sent == std::vector<wire::PeerToKeeper>{wire::to_keeper::Follow{fence, true, 0, 0},
                                                      wire::to_keeper::Watch{fence, true}});
  const std::string all(100'000, 'x');
  scene.write(all);
  scene.grew(all.size());
  scene.sent.clear();
  scene.follower->taken(all.size());
  CHECK(scene.sent ==
        std::vector<wire::PeerToKeeper>{wire::to_keeper::Follow{fence, true, all.size(), 0}});
  scene.follower.reset();
  CHECK_FALSE(scene.watch.is_attached(job));
  CHECK_FALSE(scene.watch.is_watched(fence));
}

TEST_CASE("who has lost interest is told nothing more of an attempt") {
  Scene scene;
  scene.begin();
  scene.follow();
  scene.write("hello");
  scene.attempts.take(wire::from_keeper::Grew{fence, 5, 0, false});  // due at the end of the turn
  scene.follower.reset();
  run_ready(*scene.loop);
  CHECK(scene.answers.empty());
  CHECK(scene.watches().back() == wire::to_keeper::Watch{fence, false});
}

TEST_CASE("as long as an asker may come back nothing is told, and nothing dropped") {
  Scene scene;
  scene.begin();
  scene.follow(0, 0, true);
  CHECK(scene.follower->attached());
  scene.follower->mute();
  scene.write("meanwhile");
  scene.end(Exited{0}, 9);
  scene.follower->taken(9);
  run_ready(*scene.loop);
  CHECK(scene.answers.empty());
  CHECK_FALSE(scene.over);
  CHECK(scene.watch.is_attached(job));
  scene.follower.reset();
  CHECK_FALSE(scene.watch.is_attached(job));
}
