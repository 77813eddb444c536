#include "gpl/peer/peer.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "full_disk.h"
#include "peer_scene.h"

using namespace gpl;
using namespace gpl::peer;
using gpl::peer::test::FullDisk;
using gpl::peer::test::PeerScene;
using gpl::peer::test::TestClient;

namespace {

wire::Follow follow(JobId job) {
  wire::Follow question;
  question.job = job;
  return question;
}

}  // namespace

TEST_CASE("a job is submitted, runs, and its client has its output and its code") {
  PeerScene scene;
  CHECK(scene.peer->begin() == Peer::Begin::founded);
  const auto client = scene.connect();
  const std::uint32_t question = client->ask(scene.a_job(true));
  const JobId job = client->await<wire::Submitted>(question).job;
  const Fence fence = scene.begin(job);
  scene.keeper->write(fence, "one\n", "warn\n");
  scene.until([&] { return client->output(question) == "one\n"; });
  scene.keeper->write(fence, "two\n");
  scene.keeper->end(fence, Exited{3});
  const auto ended = client->await<wire::JobEnded>(question);
  CHECK(ended == wire::JobEnded{job, TaskId{0}, Exited{3}});
  CHECK(client->output(question) == "one\ntwo\n");
  CHECK(client->output(question, wire::OutputStream::err) == "warn\n");
  CHECK(client->told<wire::TaskEnded>(question).size() == 1);
  CHECK(scene.troubles.empty());
}

TEST_CASE("a job goes on while its peer is started anew, and no byte is lost or told twice") {
  PeerScene scene;
  auto client = scene.connect();
  const std::uint32_t question = client->ask(scene.a_job(true));
  const JobId job = client->await<wire::Submitted>(question).job;
  const Fence fence = scene.begin(job);
  scene.keeper->write(fence, "before\n");
  scene.until([&] { return client->output(question) == "before\n"; });
  scene.stop();
  scene.until([&] { return client->closed(); });
  scene.keeper->write(fence, "meanwhile\n");

  scene.open();
  CHECK(scene.peer->begin() == Peer::Begin::resumed);
  client = scene.connect();
  wire::Follow again = follow(job);
  again.attached = true;
  again.from = {{TaskId{0}, fence.attempt, wire::OutputStream::out, 7}};
  const std::uint32_t second = client->ask(again);
  scene.until([&] { return !client->output(second, wire::OutputStream::out, 7).empty(); });
  scene.keeper->write(fence, "after\n");
  scene.keeper->end(fence, Exited{0});
  CHECK(client->await<wire::JobEnded>(second).outcome == Outcome{Exited{0}});
  CHECK(client->output(second, wire::OutputStream::out, 7) == "meanwhile\nafter\n");
}

TEST_CASE("what ended while the peer was away is taken up when it is back") {
  PeerScene scene;
  auto client = scene.connect();
  const JobId job = scene.submit(*client);
  const Fence fence = scene.begin(job);
  scene.stop();
  scene.keeper->write(fence, "all of it");
  scene.keeper->end(fence, Exited{0});
  scene.open();
  client = scene.connect();
  const std::uint32_t wait = client->ask(wire::WaitFor{{job}});
  client->await<wire::Done>(wait);
  CHECK(client->told<wire::JobEnded>(wait) ==
        std::vector{wire::JobEnded{job, std::nullopt, Exited{0}}});
  const std::uint32_t logs = client->ask(follow(job));
  client->await<wire::JobEnded>(logs);
  CHECK(client->output(logs) == "all of it");
}

TEST_CASE("jobs that wait are still there when the peer is started anew, under no other number") {
  PeerScene scene;
  auto client = scene.connect();
  const JobId first = scene.submit(*client);
  scene.begin(first);
  const JobId second = scene.submit(*client);
  scene.stop();
  scene.start();
  client = scene.connect();
  const JobId third = scene.submit(*client);
  CHECK(first < second);
  CHECK(second < third);
  scene.keeper->end(*scene.keeper->running(first), Exited{0});
  scene.keeper->end(scene.begin(second), Exited{0});
  scene.keeper->end(scene.begin(third), Exited{0});
  const std::uint32_t wait = client->ask(wire::WaitFor{{first, second, third}});
  client->await<wire::Done>(wait);
  CHECK(client->told<wire::JobEnded>(wait).size() == 3);
}

TEST_CASE("a submit that is told again makes no second job") {
  PeerScene scene;
  auto client = scene.connect();
  const wire::SubmitJob asked = scene.a_job();
  const JobId job = client->ask_for<wire::Submitted>(asked).job;
  scene.keeper->end(scene.begin(job), Exited{0});
  client->await<wire::Done>(client->ask(wire::WaitFor{{job}}));
  scene.stop();
  scene.start();
  client = scene.connect();
  CHECK(client->ask_for<wire::Submitted>(asked).job == job);
  const auto list = client->ask_for<wire::JobList>(
      wire::ListJobs{{{wire::JobQuery::Which::all, {}, {}, true}}, false});
  CHECK(list.jobs.size() == 1);
}

TEST_CASE("questions about jobs without an attempt here are answered once the keeper has listed") {
  PeerScene scene;
  auto client = scene.connect();
  const JobId running = scene.submit(*client);
  scene.begin(running);
  const JobId job = scene.submit(*client);
  client->ask_for<wire::Done>(wire::CancelJob{job, std::nullopt});
  scene.stop();
  scene.keeper->lists = false;
  scene.open();
  client = scene.connect();
  const std::uint32_t logs = client->ask(follow(job));
  const std::uint32_t results = client->ask(wire::AskResults{job, std::nullopt});
  client->ask_for<wire::ClusterStatus>(wire::AskCluster{});
  scene.until([&] { return scene.keeper->link.connected(); });
  run_ready(*scene.loop);
  CHECK(client->count(logs) == 0);
  CHECK(client->count(results) == 0);
  scene.keeper->list();
  CHECK(client->await<wire::JobEnded>(logs).outcome == Outcome{Cancelled{}});
  CHECK(client->await<wire::Results>(results).files.empty());
}

TEST_CASE("a job has its secrets, also when the peer is started anew while it is prepared") {
  PeerScene scene;
  auto client = scene.connect();
  const JobId running = scene.submit(*client);
  const Fence first = scene.begin(running);
  wire::SubmitJob asked = scene.a_job();
  asked.job.spec.secrets = {"TOKEN"};
  asked.secrets = {{"TOKEN", "xyzzy"}};
  const JobId job = client->ask_for<wire::Submitted>(asked).job;
  // The order to start it comes as the peer goes: it is prepared by the next one.
  scene.keeper->link.message =
      [&, usual = scene.keeper->link.message](const wire::PeerToKeeper& message) {
        if (std::holds_alternative<wire::to_keeper::Prepared>(message) && scene.peer == nullptr)
          return;
        usual(message);
      };
  scene.keeper->end(first, Exited{0});
  scene.until([&] { return scene.keeper->attempts().size() == 2; });
  scene.stop();
  run_ready(*scene.loop);
  scene.open();
  const Fence fence = scene.begin(job);
  CHECK(scene.keeper->at(fence).secrets == std::vector<wire::Secret>{{"TOKEN", "xyzzy"}});
  scene.keeper->end(fence, Exited{0});
  client = scene.connect();
  client->await<wire::Done>(client->ask(wire::WaitFor{{job}}));
  CHECK(std::filesystem::is_empty(scene.state + "/secrets"));
}

TEST_CASE("a job that waits is cancelled at once, one that runs when it has ended") {
  PeerScene scene;
  const auto client = scene.connect();
  const JobId running = scene.submit(*client);
  const Fence fence = scene.begin(running);
  const JobId waiting = scene.submit(*client);
  const std::uint32_t wait = client->ask(wire::WaitFor{{running, waiting}});
  client->ask_for<wire::Done>(wire::CancelJob{waiting, std::nullopt});
  client->await<wire::JobEnded>(wait);
  CHECK(client->told<wire::JobEnded>(wait) ==
        std::vector{wire::JobEnded{waiting, TaskId{0}, Cancelled{}}});
  client->ask_for<wire::Done>(wire::CancelJob{running, std::nullopt});
  client->await<wire::Done>(wait);
  const auto all = client->told<wire::JobEnded>(wait);
  REQUIRE(all.size() == 2);
  CHECK(all[1].job == running);
  CHECK(std::holds_alternative<Cancelled>(all[1].outcome));
  CHECK(scene.keeper->at(fence).outcome == Outcome{Signalled{15, false}});
}

TEST_CASE("what a job made is told once it has been put away, fetched, and forgotten") {
  PeerScene scene;
  const auto client = scene.connect();
  const JobId job = scene.submit(*client);
  const Fence fence = scene.begin(job);
  const std::uint32_t question = client->ask(wire::AskResults{job, std::nullopt});
  scene.keeper->make_file(fence, "model.bin", "weights");
  run_ready(*scene.loop);
  CHECK(client->count(question) == 0);
  scene.keeper->end(fence, Exited{0});
  const auto results = client->await<wire::Results>(question);
  REQUIRE(results.files.size() == 1);
  CHECK(results.files[0].path == "model.bin");
  CHECK(results.files[0].size_bytes == 7);
  CHECK(results.kept_until.has_value());
  const auto piece =
      client->ask_for<wire::FilePiece>(wire::FetchFile{job, TaskId{0}, "model.bin", 0, 1024});
  CHECK(piece == wire::FilePiece{"weights", true});
  client->ask_for<wire::Done>(wire::ForgetFiles{job, TaskId{0}, {"model.bin"}});
  CHECK(client->ask_for<wire::Results>(wire::AskResults{job, std::nullopt}).files.empty());
}

TEST_CASE("a client that still follows gets all, although another one has fetched the results") {
  PeerScene scene;
  const auto client = scene.connect();
  const JobId job = scene.submit(*client);
  const Fence fence = scene.begin(job);
  const auto slow = scene.connect();
  wire::Follow attach = follow(job);
  attach.attached = true;
  const std::uint32_t question = slow->ask(attach);
  const std::string all(wire::follow_window_bytes + 10, 'x');
  scene.keeper->make_file(fence, "made", "x");
  scene.keeper->write(fence, all);
  scene.keeper->end(fence, Exited{0});
  client->ask_for<wire::Results>(wire::AskResults{job, std::nullopt});
  client->ask_for<wire::Done>(wire::ForgetFiles{job, TaskId{0}, {"made"}});
  run_ready(*scene.loop);
  slow->say(0, wire::Taken{question, wire::follow_window_bytes});
  slow->await<wire::JobEnded>(question);
  CHECK(slow->output(question) == all);
}

TEST_CASE("a second peer of a folder that is served is refused") {
  PeerScene scene;
  const auto second = scene.try_open();
  REQUIRE_FALSE(second.ok());
  CHECK(second.error().code == Code::busy);
  const auto client = scene.connect();  // the first one is as it was
  CHECK(client->ask_for<wire::ClusterStatus>(wire::AskCluster{}).voters == 1);
}

TEST_CASE("a peer may go at any moment, whatever its clients are at") {
  PeerScene scene;
  const auto client = scene.connect();
  const auto other = scene.connect();
  const JobId job = scene.submit(*client);
  scene.begin(job);
  client->ask(follow(job));
  client->ask(wire::WaitFor{{job}});
  client->ask(wire::AskResults{job, std::nullopt});
  client->ask(wire::DrainPeer{"", true});
  client->ask(wire::ExecInTask{job, std::nullopt, {"true"}});
  client->ask(wire::FetchFile{job, TaskId{0}, "none", 0, 10});
  client->ask(wire::AskChunks{{std::string(32, 'x')}});
  client->ask_for<wire::ClusterStatus>(wire::AskCluster{});
  other->ask(scene.a_job(true));
  (void)scene.loop->run_one(seconds(1));
  scene.stop();
  run_ready(*scene.loop);
  scene.until([&] { return client->closed() && other->closed(); });
}

TEST_CASE("clients may go at any moment, and what they submitted goes on") {
  PeerScene scene;
  auto client = scene.connect();
  const JobId job = client->ask_for<wire::Submitted>(scene.a_job(true)).job;
  const Fence fence = scene.begin(job);
  client->ask(wire::WaitFor{{job}});
  client->ask(wire::AskResults{job, std::nullopt});
  client->ask(wire::ExecInTask{job, std::nullopt, {"true"}});
  client->ask(wire::DrainPeer{"", true});
  client->ask_for<wire::ClusterStatus>(wire::AskCluster{});
  client->ask(scene.a_job(true));  // not answered yet
  client->close_after_writing();
  const auto other = scene.connect();
  scene.until([&] { return client->closed(); });
  client.reset();
  const auto told = [&] {
    return other->ask_for<wire::JobList>(
        wire::ListJobs{{{wire::JobQuery::Which::all, {}, {}, true}}, false});
  };
  wire::JobList list = told();
  while (!list.jobs.front().client_gone || list.jobs.size() < 2) list = told();
  CHECK(list.jobs.front().state == "running");
  scene.keeper->write(fence, "on");
  scene.keeper->end(fence, Exited{0});
  other->await<wire::JobEnded>(other->ask(wire::WaitFor{{job}}));
}

TEST_CASE(
    "while the log cannot be written submits are refused, what runs goes on, and it recovers") {
  PeerScene scene;
  const auto client = scene.connect();
  const std::uint32_t question = client->ask(scene.a_job(true));
  const JobId job = client->await<wire::Submitted>(question).job;
  const Fence fence = scene.begin(job);
  const std::uint32_t wait = client->ask(wire::WaitFor{{job}});
  client->ask_for<wire::ClusterStatus>(wire::AskCluster{});  // it has been taken
  std::uint32_t refused = 0;
  {
    const FullDisk full;
    refused = client->ask(scene.a_job());
    scene.until([&] { return client->count(refused) == 1; });
  }
  REQUIRE(client->told<wire::Refused>(refused).size() == 1);
  CHECK(client->told<wire::Refused>(refused)[0].exit_code == 125);
  CHECK_FALSE(client->told<wire::Refused>(refused)[0].message.empty());
  CHECK_FALSE(scene.troubles.empty());
  // It ends while the log is closed, which is told once it can be.
  scene.keeper->write(fence, "meanwhile");
  scene.keeper->end(fence, Exited{5});
  std::vector<JobId> later;
  while (later.empty()) {
    const std::uint32_t again = client->ask(scene.a_job());
    scene.until([&] { return client->count(again) == 1; });
    for (const wire::Submitted& submitted : client->told<wire::Submitted>(again))
      later.push_back(submitted.job);
  }
  CHECK(client->await<wire::JobEnded>(question) == wire::JobEnded{job, TaskId{0}, Exited{5}});
  CHECK(client->output(question) == "meanwhile");
  client->await<wire::Done>(wait);
  CHECK(client->told<wire::JobEnded>(wait) ==
        std::vector{wire::JobEnded{job, TaskId{0}, Exited{5}}});
  scene.keeper->end(scene.begin(later[0]), Exited{0});
}
