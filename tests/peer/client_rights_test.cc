// What a client may ask of a peer, by who it is.
#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "session_scene.h"

using namespace gpl;
using gpl::peer::test::SessionScene;

namespace {

wire::Follow follow_of(JobId job) {
  wire::Follow follow;
  follow.job = job;
  return follow;
}
wire::SubmitJob a_job() {
  wire::SubmitJob asked;
  asked.request = {3, 4};
  asked.job.spec.command = {"true"};
  asked.job.allow_pending = true;
  return asked;
}

/// About a job, and what changes it or reads what it wrote and made.
std::vector<wire::Question> about(JobId job) {
  return {wire::CancelJob{job, {}},
          wire::HoldJob{job},
          wire::ReleaseJob{job},
          wire::RerunJob{{5, 6}, job},
          follow_of(job),
          wire::SignalTask{job, TaskId{0}, 15},
          wire::SendInput{job, 0, "x", false},
          wire::ExecInTask{job, {}, {"true"}},
          wire::AskResults{job, {}},
          wire::FetchFile{job, TaskId{0}, "x", 0, 1},
          wire::ForgetFiles{job, TaskId{0}, {"x"}}};
}
std::vector<wire::Question> of_owners() {
  return {wire::DrainPeer{"", false}, wire::ResumePeer{""}, wire::LeaveCluster{false},
          wire::AskHealth{}, wire::ForgetPeer{"lab2"}};
}
std::vector<wire::Question> of_peers(JobId job, const Fence& fence) {
  return {wire::FollowAttempt{fence, job, TaskId{0}, 0, 0, false},
          wire::FetchManifest{std::string(32, 't'), 0}, wire::FetchChunk{std::string(32, 'c')},
          wire::AskJobNotes{job}};
}

}  // namespace

TEST_CASE("an observer's key shows status and explain, and no more") {
  SessionScene scene;
  const JobId job = scene.submit(SessionScene::self, "eye");  // even if it were its own
  const auto client = scene.connect(SessionScene::observer());
  CHECK(client->ask_for<wire::ClusterStatus>(wire::AskCluster{}).peers.size() == 3);
  CHECK(client
            ->ask_for<wire::JobList>(
                wire::ListJobs{{{wire::JobQuery::Which::all, {}, {}, true}}, false})
            .jobs.size() == 1);
  client->ask_for<wire::Explained>(wire::AskExplanation{job, {}});
  std::vector<wire::Question> questions = about(job);
  for (auto& some : {of_owners(), of_peers(job, Fence{})})
    questions.insert(questions.end(), some.begin(), some.end());
  questions.emplace_back(a_job());
  questions.emplace_back(wire::AskChunks{{std::string(32, 'x')}});
  questions.emplace_back(wire::WaitFor{{job}});
  for (const wire::Question& question : questions)
    CHECK(scene.refusal_of(*client, question).message.find("observer's key") != std::string::npos);
}

TEST_CASE("who has a client's key changes and reads only jobs that it submitted with it") {
  SessionScene scene;
  const auto client = scene.connect(SessionScene::key_holder("mine"));
  for (const JobId job : {scene.submit(SessionScene::self, "other"),
                          scene.submit(SessionScene::self), scene.submit(SessionScene::lab2)})
    for (const wire::Question& question : about(job))
      CHECK(scene.refusal_of(*client, question).message ==
            "job " + std::to_string(job.value) + " is of somebody else");
}

TEST_CASE("a client's key has its jobs through whatever peer they were submitted") {
  SessionScene scene;
  const auto client = scene.connect(SessionScene::key_holder("mine"));
  for (const PeerId home : {SessionScene::self, SessionScene::lab2}) {
    const JobId job = scene.submit(home, "mine");
    client->ask_for<wire::Done>(wire::HoldJob{job});
    client->ask_for<wire::Done>(wire::CancelJob{job, {}});
  }
}

TEST_CASE("what a client submits is of its key, at the peer that took it") {
  SessionScene scene;
  const auto client = scene.connect(SessionScene::key_holder("mine"));
  const JobId job = client->ask_for<wire::Submitted>(a_job()).job;
  CHECK(scene.parts.consensus->state()->find_job(job)->submitter ==
        Submitter{"mine", SessionScene::self, 0});
}

TEST_CASE("a request that was another client's tells nothing of its job") {
  SessionScene scene;
  const auto client = scene.connect(SessionScene::key_holder("mine"));
  const JobId job = client->ask_for<wire::Submitted>(a_job()).job;
  CHECK(client->ask_for<wire::Submitted>(a_job()).job == job);
  const auto other = scene.connect(SessionScene::key_holder("other"));
  wire::SubmitJob again = a_job();
  again.attached = true;
  CHECK(scene.refusal_of(*other, again).message.find("somebody else") != std::string::npos);
}

TEST_CASE("a client's key is no owner's") {
  SessionScene scene;
  const auto client = scene.connect(SessionScene::key_holder("mine"));
  for (const wire::Question& question : of_owners())
    CHECK(scene.refusal_of(*client, question).exit_code == 125);
  CHECK(scene.drained.empty());
  CHECK(scene.parts.consensus->state()->find_peer(SessionScene::lab2) != nullptr);
}

TEST_CASE("what peers ask each other is not for clients, not even for owners") {
  SessionScene scene;
  const JobId job = scene.submit();
  const Fence fence = scene.place(job, SessionScene::self);
  scene.run_here(job, fence, "secret");
  for (const auto& caller : {SessionScene::owner(), SessionScene::key_holder("mine")}) {
    const auto client = scene.connect(caller);
    for (const wire::Question& question : of_peers(job, fence))
      CHECK(scene.refusal_of(*client, question).message.find("not for a client") !=
            std::string::npos);
  }
}

TEST_CASE("another peer asks for its clients, whose rights it has looked at") {
  SessionScene scene;
  const JobId job = scene.submit(SessionScene::self, "somebody");
  const Fence fence = scene.place(job, SessionScene::self);
  scene.run_here(job, fence);
  const auto client = scene.connect(SessionScene::other_peer());
  client->ask_for<wire::Done>(wire::SignalTask{job, TaskId{0}, 15});
  client->ask_for<wire::Done>(wire::DrainPeer{"", false});
  CHECK(scene.drained == std::vector<bool>{true});
}

TEST_CASE("owners may do everything with everyone's jobs") {
  SessionScene scene;
  const auto client = scene.connect();
  for (const JobId job :
       {scene.submit(SessionScene::self, "other"), scene.submit(SessionScene::lab2)})
    client->ask_for<wire::Done>(wire::CancelJob{job, {}});
  CHECK_FALSE(client->ask_for<wire::Health>(wire::AskHealth{}).rows.empty());
}
