// What a client asks and another peer has to answer.
#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "session_scene.h"

using namespace gpl;
using gpl::peer::test::SessionScene;
using gpl::peer::test::TestClient;
using wire::OutputStream;

namespace {

constexpr PeerId self = SessionScene::self;
constexpr PeerId lab2 = SessionScene::lab2;
constexpr PeerId lab3 = SessionScene::lab3;

wire::Follow follow_of(JobId job) {
  wire::Follow follow;
  follow.job = job;
  return follow;
}
wire::Position at(std::uint64_t offset) {
  return {TaskId{0}, AttemptId{1}, OutputStream::out, offset};
}

}  // namespace

TEST_CASE("output is asked of the peer that took the job, wherever it runs, and handed on") {
  SessionScene scene;
  scene.link(lab2);
  scene.link(lab3);
  const JobId job = scene.submit(lab2);
  scene.place(job, lab3);
  const auto client = scene.connect();
  const std::uint32_t question = client->ask(follow_of(job));
  const auto [number, asked] = scene.asked<wire::Follow>(lab2);
  CHECK(asked == follow_of(job));
  scene.at(lab2).say(number, wire::Output{at(0), "hello", 0});
  scene.until([&] { return client->output(question) == "hello"; });
  client->say(0, wire::Taken{question, 5});
  CHECK(scene.asked<wire::Taken>(lab2).second == wire::Taken{number, 5});
  scene.at(lab2).say(number, wire::JobEnded{job, std::nullopt, Exited{0}});
  CHECK(client->await<wire::JobEnded>(question) == wire::JobEnded{job, std::nullopt, Exited{0}});
  CHECK(scene.times_asked<wire::Follow>(lab3) == 0);
}

TEST_CASE("output of a job that this peer took is told here, as it is known here") {
  SessionScene scene;
  scene.link(lab2);
  const JobId job = scene.submit(self);
  const Fence fence = scene.place(job, self);
  scene.run_here(job, fence, "here");
  const auto client = scene.connect();
  const std::uint32_t question = client->ask(follow_of(job));
  scene.until([&] { return client->output(question) == "here"; });
  CHECK(scene.times_asked<wire::Follow>(lab2) == 0);
}

TEST_CASE("while the peer that took the job is away its output is asked where it runs") {
  SessionScene scene;
  scene.link(lab3);
  const JobId job = scene.submit(lab2);
  scene.place(job, lab3);
  const auto client = scene.connect();
  client->ask(follow_of(job));
  CHECK(scene.asked<wire::Follow>(lab3).second == follow_of(job));
}

TEST_CASE("a follow that nobody can answer yet waits, and is asked when somebody can") {
  SessionScene scene;
  const JobId job = scene.submit(lab2);
  const auto client = scene.connect();
  const std::uint32_t question = client->ask(follow_of(job));
  client->ask_for<wire::ClusterStatus>(wire::AskCluster{});
  CHECK(client->count(question) == 0);
  scene.refusal_of(*client, wire::Follow{follow_of(JobId{99})});
  scene.link(lab2);
  CHECK(scene.asked<wire::Follow>(lab2).second == follow_of(job));
  CHECK(client->count(question) == 0);
}

TEST_CASE("output that breaks off goes on from another peer, without gap or repetition") {
  SessionScene scene;
  scene.link(lab2);
  scene.link(lab3);
  const JobId job = scene.submit(lab2);
  scene.place(job, lab3);
  const auto client = scene.connect();
  const std::uint32_t question = client->ask(follow_of(job));
  const auto [number, asked] = scene.asked<wire::Follow>(lab2);
  scene.at(lab2).say(number, wire::Output{at(0), "abc", 0});
  scene.until([&] { return client->output(question) == "abc"; });
  scene.unlink(lab2);
  scene.at(lab2).hang_up();
  const auto [again, rest] = scene.asked<wire::Follow>(lab3);
  CHECK(rest.from == std::vector{at(3)});
  scene.at(lab3).say(again, wire::Output{at(3), "def", 0});
  scene.at(lab3).say(again, wire::JobEnded{job, std::nullopt, Exited{0}});
  client->await<wire::JobEnded>(question);
  CHECK(client->output(question) == "abcdef");
  CHECK(client->told<wire::Refused>(question).empty());
}

TEST_CASE("signals, input and commands go to the peer where the task runs") {
  SessionScene scene;
  scene.link(lab2);
  const JobId job = scene.submit(self);
  scene.place(job, lab2);
  const auto client = scene.connect();
  const std::uint32_t signal = client->ask(wire::SignalTask{job, TaskId{0}, 15});
  const auto [number, asked] = scene.asked<wire::SignalTask>(lab2);
  CHECK(asked == wire::SignalTask{job, TaskId{0}, 15});
  scene.at(lab2).say(number, wire::Done{});
  client->await<wire::Done>(signal);

  const std::uint32_t input = client->ask(wire::SendInput{job, 0, "one", false});
  const std::uint32_t sent = scene.asked<wire::SendInput>(lab2).first;
  client->say(input, wire::SendInput{job, 3, "two", true});
  CHECK(scene.asked<wire::SendInput>(lab2, 2) ==
        std::pair{sent, wire::SendInput{job, 3, "two", true}});
  scene.at(lab2).say(sent, wire::InputTaken{6});
  CHECK(client->await<wire::InputTaken>(input) == wire::InputTaken{6});

  const std::uint32_t exec = client->ask(wire::ExecInTask{job, {}, {"true"}});
  const std::uint32_t begun = scene.asked<wire::ExecInTask>(lab2).first;
  client->say(0, wire::SignalExec{exec, 2});
  CHECK(scene.asked<wire::SignalExec>(lab2).second == wire::SignalExec{begun, 2});
  scene.at(lab2).say(begun, wire::ExecEnded{Exited{4}});
  CHECK(client->await<wire::ExecEnded>(exec).outcome == Outcome{Exited{4}});
  CHECK(scene.keeper->heard<wire::to_keeper::Signal>().empty());
}

TEST_CASE("a signal to a task on a peer that is away is refused, and the peer named") {
  SessionScene scene;
  const JobId job = scene.submit(self);
  scene.place(job, lab2);
  scene.at(lab2).reachable = false;
  const auto client = scene.connect();
  CHECK(scene.refusal_of(*client, wire::SignalTask{job, TaskId{0}, 15}).message.find("lab2") !=
        std::string::npos);
}

TEST_CASE("what another peer asks is answered for this one alone, and asked of no third one") {
  SessionScene scene;
  scene.link(lab3);
  const JobId job = scene.submit(lab3);
  scene.place(job, lab3);
  const auto client = scene.connect(SessionScene::other_peer(lab2));
  client->ask(follow_of(job));
  CHECK(scene.refusal_of(*client, wire::SignalTask{job, TaskId{0}, 15}).message ==
        "the job does not run");
  CHECK(scene.refusal_of(*client, wire::ExecInTask{job, {}, {"true"}}).exit_code == 125);
  const std::uint32_t results = client->ask(wire::AskResults{job, {}});
  scene.end(scene.parts.consensus->state()
                ->find_attempt(scene.parts.consensus->state()->attempts_of(job)[0])
                ->fence,
            Exited{0});
  CHECK(client->await<wire::Results>(results).files.empty());
  CHECK(scene.at(lab3).heard.empty());
}

TEST_CASE("what a job made elsewhere is told, fetched and forgotten where it is") {
  SessionScene scene;
  scene.link(lab2);
  const JobId job = scene.submit(self);
  const Fence fence = scene.place(job, lab2);
  scene.parts.attempts->take_mirror(fence, job, TaskId{0}, lab2);
  scene.end(fence, Exited{0});
  const auto client = scene.connect();
  const std::uint32_t question = client->ask(wire::AskResults{job, {}});
  wire::ResultFile file;
  file.path = "model.bin";
  file.size_bytes = 7;
  scene.at(lab2).say(scene.asked<wire::AskResults>(lab2).first,
                     wire::Results{{file}, Instant{1000}});
  CHECK(client->await<wire::Results>(question) == wire::Results{{file}, Instant{1000}});

  const wire::FetchFile fetch{job, TaskId{0}, "model.bin", 0, 100};
  const std::uint32_t piece = client->ask(fetch);
  const auto [fetched, what] = scene.asked<wire::FetchFile>(lab2);
  CHECK(what == fetch);
  scene.at(lab2).say(fetched, wire::FilePiece{"weights", true});
  CHECK(client->await<wire::FilePiece>(piece) == wire::FilePiece{"weights", true});

  const std::uint32_t forget =
      client->ask(wire::ForgetFiles{job, TaskId{0}, {"model.bin", "none"}});
  const auto [forgotten, which] = scene.asked<wire::ForgetFiles>(lab2);
  CHECK(which.paths == std::vector<std::string>{"model.bin"});
  scene.at(lab2).say(forgotten, wire::Done{});
  client->await<wire::Done>(forget);
}

TEST_CASE("a file is fetched where it is, also when others of the job are here") {
  SessionScene scene;
  scene.link(lab2);
  const JobId job = scene.submit(lab3);
  wire::ResultFile here;
  here.path = "here.txt";
  scene.parts.results->add(job, TaskId{0}, Fence{1, AttemptId{77}}, {here}, Instant{1});
  const auto client = scene.connect();
  const wire::FetchFile fetch{job, TaskId{0}, "there.txt", 0, 100};
  const std::uint32_t question = client->ask(fetch);
  const auto& look = scene.links.at(lab2)->wait_for<wire::DoYouHave>();
  CHECK(look.what == wire::Holding::results);
  scene.links.at(lab2)->say(wire::Has{look.number, true});
  const auto [number, asked] = scene.asked<wire::FetchFile>(lab2);
  CHECK(asked == fetch);
  scene.at(lab2).say(number, wire::FilePiece{"x", true});
  CHECK(client->await<wire::FilePiece>(question) == wire::FilePiece{"x", true});
  // That one is looked for here, where the test has put none.
  scene.refusal_of(*client, wire::FetchFile{job, TaskId{0}, "here.txt", 0, 100});
  CHECK(scene.times_asked<wire::FetchFile>(lab2) == 1);
}

TEST_CASE("results that a peer cannot tell now are refused rather than left out") {
  SessionScene scene;
  const JobId job = scene.submit(self);
  const Fence fence = scene.place(job, lab2);
  scene.parts.attempts->take_mirror(fence, job, TaskId{0}, lab2);
  scene.end(fence, Exited{0});
  scene.at(lab2).reachable = false;
  const auto client = scene.connect();
  CHECK(scene.refusal_of(*client, wire::AskResults{job, {}}).message.find("lab2") !=
        std::string::npos);
}

TEST_CASE("another peer is drained and resumed by its name or its id, and does it itself") {
  SessionScene scene;
  scene.link(lab2);
  const auto client = scene.connect();
  const std::uint32_t drain = client->ask(wire::DrainPeer{"lab2", true});
  const auto [number, asked] = scene.asked<wire::DrainPeer>(lab2);
  CHECK(asked == wire::DrainPeer{"", true});
  scene.at(lab2).say(number, wire::Done{});
  client->await<wire::Done>(drain);
  client->ask(wire::ResumePeer{"000000000000000c"});
  CHECK(scene.asked<wire::ResumePeer>(lab2).second == wire::ResumePeer{""});
  CHECK(scene.drained.empty());
  CHECK(scene.refusal_of(*client, wire::DrainPeer{"lab9", true}).message.find("lab9") !=
        std::string::npos);
}

TEST_CASE("of two peers with one name it must be said which, by the ids that are told") {
  SessionScene scene;
  PeerOffer offer;
  offer.name = "lab2";
  scene.apply(command::PeerUp{PeerId{14}, "keeper", offer, Instant{1}});
  const auto client = scene.connect();
  const std::string message = scene.refusal_of(*client, wire::ResumePeer{"lab2"}).message;
  CHECK(message.find("000000000000000c or 000000000000000e") != std::string::npos);
}

TEST_CASE("another peer has a copy of an attempt's output once it was told all of it") {
  SessionScene scene;
  const JobId job = scene.submit(lab2);
  const Fence fence = scene.place(job, self);
  scene.run_here(job, fence, "out");
  const auto client = scene.connect(SessionScene::other_peer());
  const std::uint32_t question =
      client->ask(wire::FollowAttempt{fence, job, TaskId{0}, 0, 0, false});
  scene.until([&] { return client->output(question) == "out"; });
  CHECK(scene.copied.empty());
  scene.end_here(job, fence, Exited{3}, "out");
  CHECK(client->await<wire::AttemptOver>(question).outcome == Outcome{Exited{3}});
  scene.until([&] { return !scene.copied.empty(); });
  CHECK(scene.copied == std::vector{fence});
}

TEST_CASE("another peer with attached clients that is gone without a word may come back") {
  SessionScene scene;
  const JobId job = scene.submit(lab2);
  const Fence fence = scene.place(job, self);
  scene.run_here(job, fence, "out");
  auto client = scene.connect(SessionScene::other_peer());
  const std::uint32_t attached =
      client->ask(wire::FollowAttempt{fence, job, TaskId{0}, 0, 0, true});
  client->ask(wire::FollowAttempt{fence, job, TaskId{0}, 0, 0, false});
  scene.until([&] { return client->output(attached) == "out"; });
  client.reset();
  scene.until([&] { return scene.sessions.empty(); });
  CHECK(scene.lingering.size() == 1);  // the attached one
  CHECK(scene.parts.watch->is_attached(job));
  scene.lingering.clear();
  CHECK_FALSE(scene.parts.watch->is_attached(job));
}

TEST_CASE("another peer that was told all is not waited for") {
  SessionScene scene;
  const JobId job = scene.submit(lab2);
  const Fence fence = scene.place(job, self);
  scene.run_here(job, fence, "out");
  scene.end_here(job, fence, Exited{0}, "out");
  auto client = scene.connect(SessionScene::other_peer());
  client->await<wire::AttemptOver>(
      client->ask(wire::FollowAttempt{fence, job, TaskId{0}, 0, 0, true}));
  client.reset();
  scene.until([&] { return scene.sessions.empty(); });
  CHECK(scene.lingering.empty());
}

TEST_CASE("who loses interest in an attempt just as it is over harms nobody") {
  SessionScene scene;
  const JobId job = scene.submit(lab2);
  const Fence fence = scene.place(job, self);
  scene.run_here(job, fence, "out");
  scene.end_here(job, fence, Exited{0}, "out");
  const auto client = scene.connect(SessionScene::other_peer());
  client->await<wire::Hello>(0);
  // Both come in one turn.
  client->say(5, wire::FollowAttempt{fence, job, TaskId{0}, 0, 0, false});
  client->say(0, wire::SignalExec{5, 0});
  client->ask_for<wire::ClusterStatus>(wire::AskCluster{});
  CHECK(client->told<wire::AttemptOver>(5).size() == 1);
}

TEST_CASE("a question elsewhere keeps its number to itself") {
  SessionScene scene;
  scene.link(lab2);
  const JobId job = scene.submit(lab2);
  scene.place(job, lab2);
  const auto client = scene.connect();
  client->say(60, follow_of(job));
  const std::uint32_t number = scene.asked<wire::Follow>(lab2).first;
  client->say(60, wire::SignalTask{job, TaskId{0}, 2});
  client->say(60, wire::FetchFile{job, TaskId{0}, "x", 0, 1});
  client->say(60, wire::WaitFor{{job}});
  scene.until([&] { return client->count(60) == 3; });
  CHECK(client->told<wire::Refused>(60).size() == 3);
  scene.at(lab2).say(number, wire::Output{at(0), "once", 0});
  scene.until([&] { return client->output(60) == "once"; });
  CHECK(scene.times_asked<wire::SignalTask>(lab2) == 0);
}

TEST_CASE("a job that is submitted starts at once, on a peer that has a link") {
  SessionScene scene;
  scene.can_place = true;
  scene.unlinked = {self, lab2};
  const auto client = scene.connect();
  wire::SubmitJob asked;
  asked.request = {3, 4};
  asked.job.spec.command = {"true"};
  asked.job.requirement.cpus = 1;
  const JobId job = client->ask_for<wire::Submitted>(asked).job;
  const ClusterState& state = *scene.parts.consensus->state();
  REQUIRE(state.attempts_of(job).size() == 1);
  CHECK(state.find_attempt(state.attempts_of(job)[0])->peer == lab3);
}

TEST_CASE("clients may go at any moment, whatever other peers are asked for them") {
  SessionScene scene;
  scene.link(lab2);
  const JobId job = scene.submit(lab2);
  const Fence fence = scene.place(job, lab2);
  auto client = scene.connect();
  client->ask(follow_of(job));
  client->ask(wire::SignalTask{job, TaskId{0}, 2});
  client->ask(wire::ExecInTask{job, {}, {"true"}});
  client->ask(wire::AskResults{job, {}});
  client->ask(wire::FetchFile{job, TaskId{0}, "x", 0, 1});
  scene.asked<wire::ExecInTask>(lab2);
  client.reset();
  scene.until([&] { return scene.sessions.empty(); });
  // A follow and a command are told to be of no interest any more.
  scene.until([&] { return scene.times_asked<wire::SignalExec>(lab2) == 2; });
  for (const auto& asked : scene.at(lab2).heard) scene.at(lab2).say(asked.question, wire::Done{});
  scene.end(fence, Exited{0});
  scene.connect()->ask_for<wire::ClusterStatus>(wire::AskCluster{});
}
