#include "gpl/peer/client_session.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "peer_scene.h"

using namespace gpl;
using gpl::peer::test::PeerScene;
using gpl::peer::test::TestClient;

namespace {

wire::Refused refusal_of(PeerScene& scene, TestClient& client, wire::Question question) {
  const std::uint32_t number = client.ask(std::move(question));
  scene.until([&] { return client.closed() || client.count(number) > 0; });
  REQUIRE(client.count(number) == 1);
  REQUIRE(client.told<wire::Refused>(number).size() == 1);
  return client.told<wire::Refused>(number)[0];
}

/// What the keeper was told last, of one kind; waits for so many.
template <class T>
T heard(PeerScene& scene, std::size_t count = 1) {
  scene.until([&] { return scene.keeper->link.heard<T>().size() >= count; });
  return scene.keeper->link.heard<T>().back();
}

}  // namespace

TEST_CASE("a client is greeted first") {
  PeerScene scene;
  const auto client = scene.connect();
  const auto hello = client->await<wire::Hello>(0);
  CHECK(hello.oldest_protocol <= wire::client_protocol);
  CHECK(hello.newest_protocol >= wire::client_protocol);
  CHECK_FALSE(hello.version.empty());
}

TEST_CASE("a client of another protocol is told which this peer knows, and then left") {
  PeerScene scene;
  const auto client = scene.connect(false);
  client->say(0, wire::Hello{wire::client_protocol + 1, wire::client_protocol + 9, "99.0"});
  client->say(1, wire::AskCluster{});
  scene.until([&] { return client->closed(); });
  REQUIRE(client->told<wire::Hello>(0).size() == 1);
  CHECK(client->told<wire::Hello>(0)[0].newest_protocol == wire::client_protocol);
  CHECK(client->count(1) == 0);
}

TEST_CASE("a question before the hello is refused, and ends the connection") {
  PeerScene scene;
  const auto client = scene.connect(false);
  client->say(5, wire::AskCluster{});
  client->say(6, wire::AskCluster{});
  scene.until([&] { return client->closed(); });
  CHECK(client->told<wire::Refused>(5).size() == 1);
  CHECK(client->count(6) == 0);
}

TEST_CASE("a second hello is refused, and ends the connection") {
  PeerScene scene;
  const auto client = scene.connect();
  client->say(9, wire::Hello{1, 1, "test"});
  scene.until([&] { return client->closed(); });
  CHECK(client->told<wire::Refused>(9).size() == 1);
}

TEST_CASE("who has not said hello can send no large frame") {
  PeerScene scene;
  const auto client = scene.connect(false);
  client->say_bytes(std::string(wire::hello_limit_bytes + 1, 'x'));
  scene.until([&] { return client->closed(); });
  CHECK(client->count(0) == 0);
  const auto other = scene.connect();  // the peer goes on
  other->ask_for<wire::ClusterStatus>(wire::AskCluster{});
}

TEST_CASE("what is no message is refused, and ends the connection") {
  PeerScene scene;
  const auto client = scene.connect();
  client->await<wire::Hello>(0);
  client->say_bytes("\x01 nonsense");
  scene.until([&] { return client->closed(); });
  CHECK(client->told<wire::Refused>(0).size() == 1);
}

TEST_CASE("questions about a job that is not there are refused, whatever they ask") {
  PeerScene scene;
  const auto client = scene.connect();
  const JobId none{99};
  wire::Follow follow;
  follow.job = none;
  for (const wire::Question& question : std::vector<wire::Question>{
           wire::CancelJob{none, {}}, wire::HoldJob{none}, wire::ReleaseJob{none},
           wire::RerunJob{{1, 1}, none}, follow, wire::SignalTask{none, {}, 15},
           wire::SendInput{none, 0, "x", false}, wire::ExecInTask{none, {}, {"true"}},
           wire::AskResults{none, {}}, wire::FetchFile{none, {}, "x", 0, 1},
           wire::ForgetFiles{none, {}, {"x"}}, wire::AskExplanation{none, {}}}) {
    const wire::Refused refused = refusal_of(scene, *client, question);
    CHECK(refused.exit_code == 125);
    CHECK(refused.message == "there is no job 99");
  }
}

TEST_CASE("a job that makes no sense, and one that nothing could run, are refused with why") {
  PeerScene scene;
  const auto client = scene.connect();
  wire::SubmitJob empty = scene.a_job();
  empty.job.spec.command.clear();
  CHECK(refusal_of(scene, *client, empty).exit_code == 2);
  wire::SubmitJob large = scene.a_job();
  large.job.requirement.cpus = 100'000;
  const wire::Refused never = refusal_of(scene, *client, large);
  CHECK(never.exit_code == 125);
  REQUIRE(never.explanation.has_value());
  CHECK(never.explanation->verdict == Verdict::never);
  wire::SubmitJob after = scene.a_job();
  after.job.after = {{JobId{50}, After::ok}};
  CHECK(refusal_of(scene, *client, after).message.find("job 50") != std::string::npos);
  const auto list = client->ask_for<wire::JobList>(
      wire::ListJobs{{{wire::JobQuery::Which::all, {}, {}, true}}, false});
  CHECK(list.jobs.empty());
}

TEST_CASE("a job whose files are not in the peer's store is refused") {
  PeerScene scene;
  const auto client = scene.connect();
  wire::SubmitJob asked = scene.a_job();
  asked.job.tree = std::string(32, 'x');
  const std::uint32_t number = client->ask(asked);
  scene.until([&] { return client->count(number) == 1; });
  CHECK(client->told<wire::Refused>(number).size() == 1);
}

TEST_CASE("secrets and their names must fit together") {
  PeerScene scene;
  const auto client = scene.connect();
  wire::SubmitJob asked = scene.a_job();
  asked.job.spec.secrets = {"TOKEN"};
  CHECK(refusal_of(scene, *client, asked).exit_code == 2);
  asked = scene.a_job();
  asked.secrets = {{"TOKEN", "xyzzy"}};
  CHECK(refusal_of(scene, *client, asked).exit_code == 2);
}

TEST_CASE("a held job waits until it is released") {
  PeerScene scene;
  const auto client = scene.connect();
  wire::SubmitJob asked = scene.a_job();
  asked.job.held = true;
  const JobId job = client->ask_for<wire::Submitted>(asked).job;
  const auto state = [&] {
    return client
        ->ask_for<wire::JobList>(
            wire::ListJobs{{{wire::JobQuery::Which::range, job, job, true}}, true})
        .jobs.at(0)
        .state;
  };
  CHECK(state() == "held");
  client->ask_for<wire::Done>(wire::ReleaseJob{job});
  scene.begin(job);
  scene.keeper->end(*scene.keeper->running(job), Exited{0});
}

TEST_CASE("a job is run again as a new one, told again as the same") {
  PeerScene scene;
  const auto client = scene.connect();
  const JobId first = scene.submit(*client);
  scene.keeper->end(scene.begin(first), Exited{1});
  client->await<wire::Done>(client->ask(wire::WaitFor{{first}}));
  const JobId second = client->ask_for<wire::Submitted>(wire::RerunJob{{3, 3}, first}).job;
  CHECK(second != first);
  CHECK(client->ask_for<wire::Submitted>(wire::RerunJob{{3, 3}, first}).job == second);
  scene.begin(second);
}

TEST_CASE("a job that had secrets is not run again without them") {
  PeerScene scene;
  const auto client = scene.connect();
  wire::SubmitJob asked = scene.a_job();
  asked.job.spec.secrets = {"TOKEN"};
  asked.secrets = {{"TOKEN", "xyzzy"}};
  const JobId job = client->ask_for<wire::Submitted>(asked).job;
  scene.keeper->end(scene.begin(job), Exited{0});
  client->await<wire::Done>(client->ask(wire::WaitFor{{job}}));
  CHECK(refusal_of(scene, *client, wire::RerunJob{{3, 3}, job}).message.find("secrets") !=
        std::string::npos);
}

TEST_CASE("a signal goes to a task that runs, and is refused for one that does not") {
  PeerScene scene;
  const auto client = scene.connect();
  const JobId job = scene.submit(*client);
  const Fence fence = scene.begin(job);
  client->ask_for<wire::Done>(wire::SignalTask{job, TaskId{0}, 2});
  CHECK(heard<wire::to_keeper::Signal>(scene) == wire::to_keeper::Signal{fence, 2});
  const JobId waiting = scene.submit(*client);
  refusal_of(scene, *client, wire::SignalTask{waiting, TaskId{0}, 2});
  refusal_of(scene, *client, wire::SignalTask{job, TaskId{7}, 2});
  CHECK(scene.keeper->link.heard<wire::to_keeper::Signal>().size() == 1);
}

TEST_CASE("nothing is said to be done that the keeper was not told") {
  PeerScene scene;
  const auto client = scene.connect();
  const JobId job = scene.submit(*client);
  scene.begin(job);
  scene.keeper.reset();  // and no other one is started
  scene.until([&] {
    const std::uint32_t number = client->ask(wire::SignalTask{job, TaskId{0}, 2});
    scene.until([&] { return client->count(number) == 1; });
    return !client->told<wire::Refused>(number).empty();
  });
  refusal_of(scene, *client, wire::ExecInTask{job, {}, {"true"}});
  refusal_of(scene, *client, wire::SendInput{job, 0, "x", false});
}

TEST_CASE("input goes to the keeper, and is confirmed as it takes it") {
  PeerScene scene;
  const auto client = scene.connect();
  const JobId job = scene.submit(*client);
  const Fence fence = scene.begin(job);
  const std::uint32_t number = client->ask(wire::SendInput{job, 0, "hello", true});
  CHECK(heard<wire::to_keeper::Input>(scene) == wire::to_keeper::Input{fence, 0, "hello", true});
  scene.keeper->link.say(wire::from_keeper::InputTaken{fence, 3});
  scene.keeper->link.say(wire::from_keeper::InputTaken{fence, 5});
  scene.until([&] { return client->count(number) == 2; });
  CHECK(client->told<wire::InputTaken>(number) ==
        std::vector{wire::InputTaken{3}, wire::InputTaken{5}});
}

TEST_CASE("a command is run inside a job, its output given and its end told") {
  PeerScene scene;
  const auto client = scene.connect();
  const JobId job = scene.submit(*client);
  const Fence fence = scene.begin(job);
  const std::uint32_t number = client->ask(wire::ExecInTask{job, {}, {"nvidia-smi", "-L"}});
  const auto exec = heard<wire::to_keeper::Exec>(scene);
  CHECK(exec.attempt == fence);
  CHECK(exec.command == std::vector<std::string>{"nvidia-smi", "-L"});
  scene.keeper->link.say(wire::from_keeper::ExecGrew{exec.exec, wire::OutputStream::out, "GPU "});
  scene.keeper->link.say(wire::from_keeper::ExecGrew{exec.exec, wire::OutputStream::out, "0\n"});
  scene.keeper->link.say(wire::from_keeper::ExecGrew{exec.exec, wire::OutputStream::err, "oh"});
  scene.until([&] { return client->count(number) == 3; });
  CHECK(client->output(number) == "GPU 0\n");
  CHECK(client->output(number, wire::OutputStream::err) == "oh");
  client->say(0, wire::Taken{number, 6});
  CHECK(heard<wire::to_keeper::ExecTaken>(scene) == wire::to_keeper::ExecTaken{exec.exec, 6});
  client->say(0, wire::SignalExec{number, 2});
  CHECK(heard<wire::to_keeper::ExecSignal>(scene) == wire::to_keeper::ExecSignal{exec.exec, 2});
  scene.keeper->link.say(wire::from_keeper::ExecEnded{exec.exec, Exited{4}});
  CHECK(client->await<wire::ExecEnded>(number).outcome == Outcome{Exited{4}});
  refusal_of(scene, *client, wire::ExecInTask{job, {}, {}});
}

TEST_CASE("a command inside a job ends with its client") {
  PeerScene scene;
  auto client = scene.connect();
  const JobId job = scene.submit(*client);
  scene.begin(job);
  client->ask(wire::ExecInTask{job, {}, {"sleep", "9"}});
  const auto exec = heard<wire::to_keeper::Exec>(scene);
  client.reset();
  CHECK(heard<wire::to_keeper::ExecSignal>(scene) == wire::to_keeper::ExecSignal{exec.exec, 0});
  // What it still writes is for nobody.
  scene.keeper->link.say(wire::from_keeper::ExecGrew{exec.exec, wire::OutputStream::out, "late"});
  scene.keeper->link.say(wire::from_keeper::ExecEnded{exec.exec, Exited{0}});
  scene.connect()->ask_for<wire::ClusterStatus>(wire::AskCluster{});
}

TEST_CASE("a number that is in use does not mix up two commands, and harms nobody") {
  PeerScene scene;
  auto client = scene.connect();
  const JobId job = scene.submit(*client);
  scene.begin(job);
  client->say(50, wire::ExecInTask{job, {}, {"one"}});
  const auto first = heard<wire::to_keeper::Exec>(scene);
  client->say(50, wire::ExecInTask{job, {}, {"two"}});
  client->ask_for<wire::ClusterStatus>(wire::AskCluster{});
  CHECK(client->told<wire::Refused>(50).size() == 1);
  scene.keeper->link.say(wire::from_keeper::ExecEnded{first.exec, Exited{0}});
  scene.keeper->link.say(
      wire::from_keeper::ExecGrew{first.exec + 1, wire::OutputStream::out, "two"});
  scene.until([&] { return !client->told<wire::ExecEnded>(50).empty(); });
  CHECK(client->told<wire::Output>(50).empty());
  client.reset();
  scene.keeper->link.say(wire::from_keeper::ExecGrew{first.exec, wire::OutputStream::out, "x"});
  scene.keeper->link.say(wire::from_keeper::ExecGrew{first.exec + 1, wire::OutputStream::out, "x"});
  scene.connect()->ask_for<wire::ClusterStatus>(wire::AskCluster{});
}

TEST_CASE("a question that is not done yet keeps its number to itself") {
  PeerScene scene;
  const auto client = scene.connect();
  const JobId job = scene.submit(*client);
  const Fence fence = scene.begin(job);
  wire::Follow follow;
  follow.job = job;
  client->say(60, follow);
  client->say(60, wire::WaitFor{{job}});
  client->say(60, wire::AskResults{job, {}});
  client->say(60, follow);
  scene.until([&] { return client->count(60) == 3; });
  CHECK(client->told<wire::Refused>(60).size() == 3);
  scene.keeper->write(fence, "once");
  scene.keeper->end(fence, Exited{0});
  scene.until([&] { return !client->told<wire::JobEnded>(60).empty(); });
  CHECK(client->output(60) == "once");
  client->ask_for<wire::ClusterStatus>(wire::AskCluster{});
  client->say(60, wire::WaitFor{{job}});  // it is free again
  scene.until([&] { return !client->told<wire::Done>(60).empty(); });
}

TEST_CASE("a wait tells each job as it ends, then that this was all") {
  PeerScene scene;
  const auto client = scene.connect();
  const JobId first = scene.submit(*client);
  const JobId second = scene.submit(*client);
  const std::uint32_t wait = client->ask(wire::WaitFor{{second, first}});
  scene.keeper->end(scene.begin(first), Exited{0});
  scene.keeper->end(scene.begin(second), Exited{7});
  client->await<wire::Done>(wait);
  CHECK(client->told<wire::JobEnded>(wait) ==
        std::vector{wire::JobEnded{first, std::nullopt, Exited{0}},
                    wire::JobEnded{second, TaskId{0}, Exited{7}}});
  client->await<wire::Done>(client->ask(wire::WaitFor{{}}));
}

TEST_CASE("a job that has not reached this peer yet is waited for until it has ended") {
  PeerScene scene;
  const auto client = scene.connect();
  const std::uint32_t wait = client->ask(wire::WaitFor{{JobId{1}}});
  client->ask_for<wire::ClusterStatus>(wire::AskCluster{});
  CHECK(client->count(wait) == 0);
  const JobId job = scene.submit(*client);
  REQUIRE(job == JobId{1});
  scene.keeper->end(scene.begin(job), Exited{0});
  client->await<wire::Done>(wait);
  CHECK(client->told<wire::JobEnded>(wait) ==
        std::vector{wire::JobEnded{job, std::nullopt, Exited{0}}});
}

TEST_CASE("a long list of large jobs comes in answers that fit, whole and in order") {
  PeerScene scene;
  const auto client = scene.connect();
  constexpr std::uint64_t count = 600;
  std::uint32_t last = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    wire::SubmitJob asked = scene.a_job();
    asked.job.held = true;
    asked.job.spec.command = {"true", std::string(50'000, 'x')};
    last = client->ask(asked);
  }
  client->await<wire::Submitted>(last);
  for (const bool details : {true, false}) {
    const std::uint32_t number =
        client->ask(wire::ListJobs{{{wire::JobQuery::Which::all, {}, {}, true}}, details});
    std::vector<JobId> listed;
    scene.until([&] {
      const auto lists = client->told<wire::JobList>(number);
      return client->closed() || !client->told<wire::Refused>(number).empty() ||
             (!lists.empty() && lists.back().last);
    });
    REQUIRE_FALSE(client->closed());
    for (const wire::JobList& list : client->told<wire::JobList>(number))
      for (const wire::JobSummary& job : list.jobs) listed.push_back(job.id);
    CHECK(listed.size() == count);
    CHECK(std::is_sorted(listed.begin(), listed.end()));
  }
}

TEST_CASE("the owner is told what is well") {
  PeerScene scene;
  const auto client = scene.connect();
  const auto health = client->ask_for<wire::Health>(wire::AskHealth{});
  CHECK_FALSE(health.rows.empty());
}
