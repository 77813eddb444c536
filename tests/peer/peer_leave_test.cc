#include <doctest/doctest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "gpl/peer/peer.h"
#include "peer_scene.h"

using namespace gpl;
using namespace gpl::peer;
using gpl::peer::test::PeerScene;
using gpl::peer::test::TestClient;

TEST_CASE("a submit that is refused leaves no secret behind") {
  PeerScene scene;
  const auto client = scene.connect();
  wire::SubmitJob asked = scene.a_job();
  asked.job.spec.secrets = {"TOKEN"};
  asked.secrets = {{"TOKEN", "xyzzy"}};
  const JobId job = client->ask_for<wire::Submitted>(asked).job;
  scene.keeper->end(scene.begin(job), Exited{0});
  client->await<wire::Done>(client->ask(wire::WaitFor{{job}}));
  CHECK(std::filesystem::is_empty(scene.state + "/secrets"));
  // Told again when it has ended: it is not run again, and must not be kept again.
  CHECK(client->ask_for<wire::Submitted>(asked).job == job);
  CHECK(std::filesystem::is_empty(scene.state + "/secrets"));
}

TEST_CASE("a peer that drains starts nothing more, and says when nothing runs") {
  PeerScene scene;
  const auto client = scene.connect();
  const JobId running = scene.submit(*client);
  const Fence fence = scene.begin(running);
  const std::uint32_t drain = client->ask(wire::DrainPeer{"", true});
  const JobId waiting = scene.submit(*client);
  const auto status = client->ask_for<wire::ClusterStatus>(wire::AskCluster{});
  REQUIRE(status.peers.size() == 1);
  CHECK(client->count(drain) == 0);
  scene.keeper->end(fence, Exited{0});
  client->await<wire::Done>(drain);
  CHECK_FALSE(scene.keeper->running(waiting).has_value());
  client->ask_for<wire::Done>(wire::ResumePeer{""});
  scene.keeper->end(scene.begin(waiting), Exited{0});
}

TEST_CASE("once a drain has been said to be done nothing is started") {
  PeerScene scene;
  const auto client = scene.connect();
  client->ask_for<wire::Done>(wire::DrainPeer{"", true});
  const JobId job = scene.submit(*client);
  const auto list = client->ask_for<wire::JobList>(
      wire::ListJobs{{{wire::JobQuery::Which::range, job, job, true}}, false});
  REQUIRE(list.jobs.size() == 1);
  CHECK(list.jobs[0].state == "queued");
  CHECK(list.jobs[0].running == 0);
}

TEST_CASE("a drain that is taken back is refused to who waits for it") {
  PeerScene scene;
  const auto client = scene.connect();
  scene.begin(scene.submit(*client));
  const std::uint32_t drain = client->ask(wire::DrainPeer{"", true});
  scene.connect()->hang_up();
  client->ask_for<wire::Done>(wire::ResumePeer{""});
  scene.until([&] { return client->count(drain) == 1; });
  CHECK(client->told<wire::Refused>(drain).size() == 1);
}

TEST_CASE("another peer's name is not this peer") {
  PeerScene scene;
  const auto client = scene.connect();
  const std::uint32_t drain = client->ask(wire::DrainPeer{"elsewhere", false});
  scene.until([&] { return client->count(drain) == 1; });
  REQUIRE(client->told<wire::Refused>(drain).size() == 1);
  CHECK(client->told<wire::Refused>(drain)[0].message.find("elsewhere") != std::string::npos);
}

TEST_CASE("a peer does not leave while it has jobs, unless these are to end") {
  PeerScene scene;
  const auto client = scene.connect();
  const JobId job = scene.submit(*client);
  const Fence fence = scene.begin(job);
  const std::uint32_t refused = client->ask(wire::LeaveCluster{false});
  scene.until([&] { return client->count(refused) == 1; });
  REQUIRE(client->told<wire::Refused>(refused).size() == 1);
  CHECK(client->told<wire::Refused>(refused)[0].message.find("job 1") != std::string::npos);
  CHECK_FALSE(scene.peer->has_left());

  client->ask_for<wire::Done>(wire::LeaveCluster{true});
  CHECK(scene.peer->has_left());
  CHECK(scene.keeper->at(fence).outcome.has_value());
  scene.until([&] { return !scene.keeper->link.heard<wire::to_keeper::Retire>().empty(); });
}

TEST_CASE("a peer that leaves takes no job that would be lost with it") {
  PeerScene scene;
  const auto client = scene.connect();
  const auto other = scene.connect();
  client->ask_for<wire::Done>(wire::LeaveCluster{false});
  const std::uint32_t submit = other->ask(scene.a_job());
  scene.until([&] { return other->closed() || other->count(submit) == 1; });
  CHECK(other->told<wire::Submitted>(submit).empty());
}

TEST_CASE("a job that is held while the peer waits to leave keeps it from leaving") {
  PeerScene scene;
  const auto client = scene.connect();
  const auto other = scene.connect();
  scene.begin(scene.submit(*client));
  const std::uint32_t leave = client->ask(wire::LeaveCluster{true});
  wire::SubmitJob held = scene.a_job();
  held.job.held = true;
  const std::uint32_t submit = other->ask(held);
  scene.until([&] { return other->count(submit) == 1; });
  if (!other->told<wire::Submitted>(submit).empty()) {
    scene.until([&] { return client->count(leave) == 1; });
    CHECK(client->told<wire::Done>(leave).empty());  // it was acknowledged
  }
}

TEST_CASE("what a peer leaves behind is cleaned up, and it can found anew") {
  PeerScene scene;
  const auto client = scene.connect();
  client->ask_for<wire::Done>(wire::LeaveCluster{false});
  scene.stop();
  REQUIRE(Peer::clean_up(scene.state).ok());
  CHECK_FALSE(std::filesystem::exists(scene.state + "/peer"));
  scene.keeper.reset();
  std::filesystem::create_directories(scene.state);
  scene.keeper.emplace(*scene.loop, scene.state);
  scene.start();
  CHECK(scene.peer->begin() == Peer::Begin::founded);
}

TEST_CASE("a client that goes while the peer waits to leave keeps it from nothing") {
  PeerScene scene;
  auto client = scene.connect();
  const auto other = scene.connect();
  scene.begin(scene.submit(*client));
  client->ask(wire::LeaveCluster{true});
  other->ask_for<wire::ClusterStatus>(wire::AskCluster{});
  client.reset();
  // It leaves nevertheless, or goes on as if nobody had asked.
  bool settled = false;
  const Moment enough = scene.loop->now() + seconds(10);
  while (!settled && scene.loop->now() < enough) {
    const std::uint32_t submit = other->ask(scene.a_job());
    scene.until([&] { return other->closed() || other->count(submit) == 1; });
    settled = scene.peer->has_left() || !other->told<wire::Submitted>(submit).empty();
  }
  CHECK(settled);
}
