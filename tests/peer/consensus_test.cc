#include "gpl/peer/consensus.h"

#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../net/run_until.h"
#include "../temporary_folder.h"
#include "full_disk.h"

using namespace gpl;
using namespace gpl::peer;
using gpl::peer::test::FullDisk;

namespace {

constexpr PeerId lab{11};

command::Submit submit(std::uint64_t request) {
  JobDescription job;
  job.spec.command = {"true"};
  return {{0, request}, {"", lab, 1000}, std::move(job), {}, Instant{1'000}};
}

struct Scene {
  TemporaryFolder folder;
  std::unique_ptr<net::Loop> loop = make_loop();
  std::unique_ptr<Consensus> consensus;
  std::vector<std::string> told;  // "applied 2", "ready", "done"
  int ready = 0;
  int leader_changes = 0;
  std::vector<Error> closed;
  std::vector<std::string> notes;
  std::vector<LeaderToWorker> sent;

  Result<std::unique_ptr<Consensus>> try_open(bool found) {
    ConsensusOptions options;
    options.folder = folder / "log";
    options.node = {1};
    options.found = found;
    options.segment_bytes = 256 * 1024;
    Consensus::Told what;
    what.applied = [this](const AppliedEntry& entry) {
      if (!entry.commands.empty()) told.push_back("applied " + std::to_string(entry.index));
    };
    what.ready = [this] {
      ++ready;
      told.push_back("ready");
    };
    what.leader_changed = [this] { ++leader_changes; };
    what.to_worker = [this](const LeaderToWorker& message) { sent.push_back(message); };
    what.note = [this](const std::string& note) { notes.push_back(note); };
    what.closed = [this](const Error& error) { closed.push_back(error); };
    return Consensus::open(
        *loop, std::move(options), [](const ClusterState&, Instant) { return Placements{}; },
        {[] { return std::vector<PeerId>{}; }, [](PeerId, const wire::LinkMessage&) {},
         [](PeerId) -> const wire::LinkHello* { return nullptr; }},
        std::move(what));
  }
  void open(bool found) {
    auto opened = try_open(found);
    REQUIRE_MESSAGE(opened.ok(), (opened.ok() ? "" : opened.error().message));
    consensus = std::move(opened).value();
  }
  template <class Condition>
  void until(Condition holds) {
    run_until(*loop, holds);
  }
  void lead() {
    const int before = ready;
    until([&] { return ready > before && consensus->leads(); });
  }
  Result<Applied> propose(Command command) {
    std::optional<Result<Applied>> answer;
    consensus->propose(std::move(command),
                       [&](Result<Applied> result) { answer.emplace(std::move(result)); });
    CHECK_FALSE(answer.has_value());  // never from within
    until([&] { return answer.has_value(); });
    return std::move(*answer);
  }
  JobId make_job(std::uint64_t request) {
    const auto applied = propose(submit(request));
    REQUIRE(applied.ok());
    REQUIRE(applied.value().job.has_value());
    return *applied.value().job;
  }
};

}  // namespace

TEST_CASE("a cluster is founded, leads once, and takes what is proposed") {
  Scene scene;
  scene.open(true);
  CHECK_FALSE(scene.consensus->leads());
  scene.lead();
  CHECK(scene.consensus->leads());
  CHECK(scene.consensus->leads_since().has_value());
  const JobId first = scene.make_job(1);
  const JobId second = scene.make_job(2);
  CHECK(first < second);
  REQUIRE(scene.consensus->state() != nullptr);
  CHECK(scene.consensus->state()->find_job(second) != nullptr);
  CHECK(scene.ready == 1);
  CHECK(scene.notes.empty());
}

TEST_CASE("what a command did is told after it was applied, to who proposed it") {
  Scene scene;
  scene.open(true);
  scene.lead();
  scene.told.clear();
  std::vector<std::uint64_t> jobs;
  for (std::uint64_t request = 1; request <= 3; ++request) {
    scene.consensus->propose(submit(request), [&](const Result<Applied>& applied) {
      REQUIRE(applied.ok());
      jobs.push_back(applied.value().job->value);
      scene.told.emplace_back("done");
    });
  }
  scene.until([&] { return jobs.size() == 3; });
  CHECK(jobs == std::vector<std::uint64_t>{1, 2, 3});
  REQUIRE(scene.told.size() == 6);
  CHECK(scene.told[0].starts_with("applied"));
  CHECK(scene.told[1] == "done");
}

TEST_CASE("a command that is refused says so, and changes nothing") {
  Scene scene;
  scene.open(true);
  scene.lead();
  const std::uint64_t before = scene.consensus->state()->digest();
  const auto applied = scene.propose(command::Hold{JobId{99}, Instant{1}});
  REQUIRE(applied.ok());
  CHECK(applied.value().refused.has_value());
  CHECK(scene.consensus->state()->digest() == before);
}

TEST_CASE("opened anew from its folder the state is the same") {
  Scene scene;
  scene.open(true);
  scene.lead();
  for (std::uint64_t request = 1; request <= 20; ++request) scene.make_job(request);
  const std::uint64_t digest = scene.consensus->state()->digest();
  scene.consensus.reset();
  scene.open(false);
  scene.lead();
  CHECK(scene.consensus->state()->digest() == digest);
  CHECK(scene.consensus->state()->find_request({0, 7}) == JobId{7});
  CHECK(scene.make_job(21) == JobId{21});  // no number is given twice
}

TEST_CASE("a log that should be there and is not is no new cluster") {
  Scene scene;
  CHECK_FALSE(scene.try_open(false).ok());
}

TEST_CASE("a log that is in use is not opened a second time") {
  Scene scene;
  scene.open(true);
  const auto second = scene.try_open(true);
  REQUIRE_FALSE(second.ok());
  CHECK(second.error().code == Code::busy);
}

TEST_CASE("a worker that says hello is answered by the leader") {
  Scene scene;
  scene.open(true);
  const to_leader::Hello hello{{5}, "keeper", {}, {}, {}};
  scene.consensus->to_leader(hello);
  CHECK(scene.sent.empty());  // it does not lead yet
  scene.lead();
  CHECK(scene.leader_changes == 1);
  scene.consensus->to_leader(hello);
  scene.until([&] { return !scene.sent.empty(); });
  REQUIRE(scene.sent.size() == 1);
  CHECK(std::holds_alternative<to_worker::Welcome>(scene.sent[0]));
}

TEST_CASE("who proposes when told has an answer of his own") {
  Scene scene;
  scene.open(true);
  scene.lead();
  std::vector<Result<Applied>> answers;
  scene.consensus->propose(submit(1), [&](Result<Applied> first) {
    answers.push_back(std::move(first));
    scene.consensus->propose(submit(2),
                             [&](Result<Applied> second) { answers.push_back(std::move(second)); });
  });
  scene.until([&] { return answers.size() == 2; });
  CHECK(answers[0].value().job == JobId{1});
  CHECK(answers[1].value().job == JobId{2});
}

TEST_CASE("what is under way when it is dropped is not told any more") {
  Scene scene;
  scene.open(true);
  scene.lead();
  bool called = false;
  scene.consensus->propose(submit(1), [&](const Result<Applied>&) { called = true; });
  scene.consensus.reset();
  run_ready(*scene.loop);
  CHECK_FALSE(called);
}

TEST_CASE("when the log cannot be written what was proposed fails, and it is opened again") {
  Scene scene;
  scene.open(true);
  scene.lead();
  const JobId kept = scene.make_job(1);
  std::vector<Result<Applied>> failed;
  bool was_closed = false;
  {
    const FullDisk full;
    for (std::uint64_t request = 2; request <= 3; ++request)
      scene.consensus->propose(
          submit(request), [&](Result<Applied> result) { failed.push_back(std::move(result)); });
    scene.until([&] { return !scene.closed.empty(); });
    was_closed = scene.consensus->state() == nullptr && scene.consensus->failure().has_value() &&
                 !scene.consensus->leads() && !scene.consensus->leads_since();
    // While it is closed too.
    scene.consensus->propose(submit(4),
                             [&](Result<Applied> result) { failed.push_back(std::move(result)); });
    scene.until([&] { return failed.size() == 3; });
  }
  CHECK(was_closed);
  for (const auto& each : failed) {
    REQUIRE_FALSE(each.ok());
    CHECK(each.error().code != Code::invalid);  // 2 would be said of it
    CHECK_FALSE(each.error().message.empty());
  }
  CHECK(scene.ready == 1);
  scene.lead();
  CHECK_FALSE(scene.consensus->failure().has_value());
  CHECK(scene.consensus->state()->find_job(kept) != nullptr);
  CHECK(scene.propose(submit(5)).ok());
  CHECK(scene.ready == 2);
}

TEST_CASE("while it is being opened again there is no state, rather than an old one") {
  Scene scene;
  scene.open(true);
  scene.lead();
  const JobId job = scene.make_job(1);
  {
    const FullDisk full;
    scene.consensus->propose(submit(2), [](const Result<Applied>&) {});
    scene.until([&] { return !scene.closed.empty(); });
  }
  bool always = true;
  scene.until([&] {
    const ClusterState* state = scene.consensus->state();
    always = always && (state == nullptr || state->find_job(job) != nullptr);
    // Why nothing is known must be told as long as that is so.
    always = always && (state != nullptr || scene.consensus->failure().has_value());
    return scene.ready == 2;
  });
  CHECK(always);
}

TEST_CASE("on a disk that stays full nobody is told that the log is open again") {
  Scene scene;
  scene.open(true);
  scene.lead();
  scene.make_job(1);
  std::vector<std::string> meanwhile;
  int ready = 0;
  {
    const FullDisk full;
    scene.consensus->propose(submit(2), [](const Result<Applied>&) {});
    scene.until([&] { return !scene.closed.empty(); });
    scene.notes.clear();
    const Moment enough = scene.loop->now() + milliseconds(2500);
    scene.until([&] { return scene.loop->now() >= enough; });
    meanwhile = scene.notes;
    ready = scene.ready;
  }
  CHECK(meanwhile.empty());
  CHECK(ready == 1);
  scene.lead();
  CHECK(scene.notes == std::vector<std::string>{"the log is open again"});
}
