#pragma once

#include <doctest/doctest.h>
#include <sys/socket.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../net/run_until.h"
#include "../temporary_folder.h"
#include "fake_keeper.h"
#include "far_peer.h"
#include "gpl/peer/client_session.h"
#include "gpl/posix/fd.h"
#include "mesh_scene.h"
#include "peer_scene.h"

namespace gpl::peer::test {

/// What ClientSessions stand on, without a Peer: its parts are real but for the keeper and the
/// other peers. These are linked, and what they are asked is answered by the test; the state is
/// what the test proposes.
struct SessionScene {
  static constexpr PeerId self{11};
  static constexpr PeerId lab2{12};
  static constexpr PeerId lab3{13};

  TemporaryFolder folder;
  std::unique_ptr<net::Loop> loop = make_loop();
  auth::Key key = auth::Key::draw();
  auth::KeyPair own = auth::draw_key_pair();
  FarPeers others{*loop};
  std::optional<FakeKeeper> keeper;
  std::vector<Fence> copied;
  std::vector<std::unique_ptr<AttemptFollower>> lingering;
  std::vector<bool> drained;
  bool can_place = false;
  std::set<PeerId> unlinked;
  peer::Parts parts{*loop, identity(), folder / "state"};
  std::map<PeerId, std::unique_ptr<mesh_scene::Hand>> links;
  std::map<std::uint64_t, std::unique_ptr<ClientSession>> sessions;
  std::uint64_t last_session = 0;
  std::uint64_t requests = 0;

  SessionScene() {
    std::filesystem::create_directories(parts.attempts_folder());
    parts.peer = calls();
    keeper.emplace(*loop, parts.state_folder);
    open_store();
    wire_keeper();
    open_mesh();
    wire_network();
    open_consensus();
    parts.keeper->start();
    until([&] { return keeper->connected() && parts.keeper->connected(); });
    parts.attempts->take(wire::from_keeper::Listed{});
    for (const PeerId peer : {self, lab2, lab3}) peer_up(peer);
  }
  ~SessionScene() {
    sessions.clear();
    lingering.clear();
    parts.consensus.reset();
    parts.mirrors.reset();
    parts.pulls.reset();
    parts.holders.reset();
    parts.far.reset();
    parts.mesh.reset();
    parts.results.reset();
    parts.staging.reset();
    parts.pins.reset();
    parts.pool.reset();
  }
  SessionScene(const SessionScene&) = delete;
  SessionScene& operator=(const SessionScene&) = delete;

  template <class Condition>
  void until(Condition holds) {
    run_until(*loop, holds);
  }

  // Who asks.
  static Caller owner() { return {{"", self, 0}, Caller::Rights::all, false, {}}; }
  static Caller key_holder(const std::string& name) {
    return {{name, self, 0}, Caller::Rights::own, false, {}};
  }
  static Caller observer() { return {{"eye", self, 0}, Caller::Rights::looking, false, {}}; }
  static Caller other_peer(PeerId peer = lab2) {
    return {{"peer", self, 0}, Caller::Rights::all, true, peer};
  }
  std::unique_ptr<TestClient> connect(Caller caller = owner()) {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
    const std::uint64_t number = ++last_session;
    auto session = std::make_unique<ClientSession>(parts, number, std::move(caller),
                                                   [this, number] { sessions.erase(number); });
    REQUIRE(session->adopt(posix::Fd(ends[0])).ok());
    sessions.emplace(number, std::move(session));
    return std::make_unique<TestClient>(*loop, posix::Fd(ends[1]));
  }
  wire::Refused refusal_of(TestClient& client, wire::Question question) {
    const std::uint32_t number = client.ask(std::move(question));
    until([&] { return client.closed() || client.count(number) > 0; });
    REQUIRE(client.count(number) == 1);
    REQUIRE(client.told<wire::Refused>(number).size() == 1);
    return client.told<wire::Refused>(number)[0];
  }

  // What the others are, and are asked.
  FarPeer& at(PeerId peer) { return others.at(peer.value); }
  void link(PeerId peer) {
    auto hand = std::make_unique<mesh_scene::Hand>(*loop);
    hand->dial(parts.mesh->port(), key);
    hand->say(mesh_scene::hello_of(peer.value, 100 + peer.value));
    until([&] { return parts.mesh->is_up(peer); });
    links[peer] = std::move(hand);
  }
  void unlink(PeerId peer) {
    links.erase(peer);
    until([&] { return !parts.mesh->is_up(peer); });
  }
  /// The newest question of this kind, once there are so many.
  template <class T>
  std::pair<std::uint32_t, T> asked(PeerId peer, std::size_t count = 1) {
    until([&] { return at(peer).template asked<T>().size() >= count; });
    return at(peer).template asked<T>().back();
  }
  template <class T>
  std::size_t times_asked(PeerId peer) {
    return at(peer).template asked<T>().size();
  }

  // The state.
  Applied apply(Command command) {
    std::optional<Result<Applied>> done;
    parts.consensus->propose(std::move(command),
                             [&](Result<Applied> result) { done.emplace(std::move(result)); });
    until([&] { return done.has_value(); });
    REQUIRE(done->ok());
    REQUIRE_FALSE(done->value().refused.has_value());
    return std::move(*done).value();
  }
  void peer_up(PeerId peer) {
    PeerOffer offer;
    offer.name = name_of(peer);
    offer.host.cpus = 8;
    apply(command::PeerUp{peer, "keeper", offer, Instant{1}});
  }
  /// Of a person at this peer, of a client with a key of its own there.
  JobId submit(PeerId home = self, const std::string& client = "") {
    JobDescription job;
    job.spec.command = {"true"};
    return *apply(command::Submit{{9, ++requests}, {client, home, 0}, job, {}, Instant{1}}).job;
  }
  Fence place(JobId job, PeerId worker) {
    const Applied placed = apply(command::Place{
        job, {{TaskId{0}, TaskId{0}}, worker, Allocation{1, 0, {}, ""}}, Instant{1}});
    REQUIRE(placed.placed.size() == 1);
    return parts.consensus->state()->find_attempt(placed.placed[0])->fence;
  }
  void end(const Fence& attempt, Outcome outcome) {
    apply(command::Start{attempt, Instant{2}});
    apply(command::Report{attempt, std::move(outcome), Instant{3}, false});
  }
  /// As the keeper here tells it; with its output, whole.
  void run_here(JobId job, const Fence& attempt, const std::string& out = "") {
    write(attempt, out);
    parts.attempts->take(wire::from_keeper::Prepare{attempt, job, TaskId{0}, ""});
    parts.attempts->take(wire::from_keeper::Running{attempt, job, TaskId{0}, 77});
    parts.attempts->take(wire::from_keeper::Grew{attempt, out.size(), 0, false});
  }
  void end_here(JobId job, const Fence& attempt, Outcome outcome, const std::string& out) {
    parts.attempts->take(
        wire::from_keeper::Ended{attempt, job, TaskId{0}, std::move(outcome), Instant{2}});
    parts.attempts->take(wire::from_keeper::Grew{attempt, out.size(), 0, true});
    parts.attempts->collected(attempt);
  }
  void write(const Fence& attempt, const std::string& out) const {
    const std::string path = parts.attempt_folder(attempt);
    std::filesystem::create_directories(path);
    std::ofstream(path + "/stdout", std::ios::binary) << out;
    std::ofstream(path + "/stderr", std::ios::binary) << "";
  }

  static std::string name_of(PeerId peer) {
    return peer == PeerId{} ? "lab1" : "lab" + std::to_string(peer.value - 10);
  }

 private:
  static Identity identity() {
    Identity identity;
    identity.peer = self;
    identity.node = raft::NodeId{self.value};
    identity.cluster = mesh_scene::cluster;
    identity.name = "lab1";
    return identity;
  }
  PeerCalls calls() {
    PeerCalls calls;
    calls.health = [] {
      return std::vector<wire::HealthRow>{{wire::HealthRow::Level::ok, "", ""}};
    };
    calls.set_draining = [this](bool draining) {
      drained.push_back(draining);
      return success();
    };
    calls.is_draining = [this] { return !drained.empty() && drained.back(); };
    calls.can_place = [this] { return can_place; };
    calls.unlinked = [this](const ClusterState&) { return unlinked; };
    calls.short_of_space = [] { return std::optional<Error>(); };
    calls.is_pinned = [](const ContentId&) { return false; };
    calls.delivered = [](JobId) {};
    calls.linger = [this](std::unique_ptr<AttemptFollower> follower) {
      lingering.push_back(std::move(follower));
    };
    calls.copied = [this](const Fence& attempt) { copied.push_back(attempt); };
    calls.hold_elsewhere = [](const wire::SubmitJob&, const std::function<void()>& done) {
      done();
    };
    calls.name_of = name_of;
    calls.set_leaving = [](bool) {};
    calls.leave = [](const std::function<void(Status)>& done) { done(success()); };
    return calls;
  }
  void open_store() {
    auto store = artifact::ChunkStore::open(parts.state_folder + "/store");
    REQUIRE(store.ok());
    parts.store = std::make_unique<artifact::ChunkStore>(std::move(store).value());
    parts.pool = std::make_unique<Pool>(*loop);
    parts.pins = std::make_unique<TreePins>(*parts.pool, *parts.store);
    parts.staging = std::make_unique<Staging>(*parts.pool, *parts.store, parts.attempts_folder());
    parts.results =
        std::make_unique<Results>(*parts.pool, parts.attempts_folder(), [](const Fence&) {});
    parts.secrets = std::make_unique<JobSecrets>(parts.state_folder, own);
  }
  void wire_keeper() {
    parts.news = std::make_unique<JobNews>(*loop);
    parts.attempts =
        std::make_unique<LocalAttempts>([this](JobId job) { parts.news->changed(job); });
    parts.keeper = std::make_unique<KeeperLink>(
        *loop, parts.state_folder, "/bin/false",
        KeeperLink::Told{[](const wire::KeeperToPeer&) {}, [](bool) {}, [](const std::string&) {}});
    const auto send = [this](const wire::PeerToKeeper& message) { parts.keeper->send(message); };
    parts.watch = std::make_unique<OutputWatch>(send, [](JobId) {});
    parts.calls = std::make_unique<KeeperCalls>(send);
  }
  void open_mesh() {
    MeshOptions options{
        parts.identity,     key, own, "1.0", parts.state_folder, mesh_scene::at_port(0), {}, false,
        mesh_scene::quick()};
    Mesh::Told told;
    told.up = [](PeerId) {};
    told.down = [this](PeerId peer) { parts.holders->link_lost(peer); };
    told.message = [this](PeerId from, const wire::LinkMessage& message) {
      parts.holders->take(from, message);
    };
    told.client = [](net::SecureSocket) {};
    told.twin = [](const Error& error) { FAIL(error.message); };
    told.note = [](const std::string&) {};
    auto mesh = Mesh::open(*loop, std::move(options), std::move(told));
    REQUIRE(mesh.ok());
    parts.mesh = std::move(mesh).value();
  }
  void wire_network() {
    parts.far = std::make_unique<FarSessions>(*loop, others.connect(), "1.0");
    parts.holders = std::make_unique<Holders>(Holders::Around{
        *loop,
        [this](PeerId peer, wire::LinkMessage message) {
          return parts.mesh->send(peer, std::move(message));
        },
        [this] { return parts.mesh->up(); },
        [](wire::Holding, const std::string&, const std::function<void(bool)>& told) {
          told(false);
        },
        [](PeerId, const wire::Hold&, const std::function<void(Status)>& told) { told(success()); },
        [this](PeerId, const RequestId& request,
               const std::function<void(Result<std::vector<wire::Secret>>)>& told) {
          told(parts.secrets->find(request));
        }});
    parts.pulls = std::make_unique<TreePulls>(TreePulls::Around{
        *loop, *parts.pool, *parts.store, *parts.pins, *parts.far,
        [](const ContentId&, const std::function<void(std::vector<PeerId>)>& told) { told({}); }});
    parts.mirrors = std::make_unique<Mirrors>(
        Mirrors::Around{.loop = *loop,
                        .pool = *parts.pool,
                        .far = *parts.far,
                        .attempts = *parts.attempts,
                        .self = self,
                        .state_folder = parts.state_folder,
                        .name_of = name_of,
                        .is_up = [this](PeerId peer) { return parts.mesh->is_up(peer); },
                        .is_attached = [](JobId) { return false; },
                        .is_under_way = [](const Fence&) { return true; },
                        .note = [](const std::string&) {}});
  }
  void open_consensus() {
    ConsensusOptions options;
    options.folder = parts.state_folder + "/log";
    options.node = parts.identity.node;
    options.found = true;
    options.segment_bytes = 256 * 1024;
    Consensus::Told told;
    told.applied = [this](const AppliedEntry& entry) {
      for (const Applied& result : entry.results)
        for (const JobId job : result.ended) parts.news->changed(job);
    };
    told.ready = [] {};
    told.leader_changed = [] {};
    told.to_worker = [](const LeaderToWorker&) {};
    told.note = [](const std::string&) {};
    told.closed = [](const Error& error) { FAIL(error.message); };
    const Reach alone{[] { return std::vector<PeerId>{}; }, [](PeerId, const wire::LinkMessage&) {},
                      [](PeerId) -> const wire::LinkHello* { return nullptr; }};
    auto opened = Consensus::open(
        *loop, std::move(options), [](const ClusterState&, Instant) { return Placements{}; }, alone,
        std::move(told));
    REQUIRE(opened.ok());
    parts.consensus = std::move(opened).value();
    until([&] { return parts.consensus->leads() && parts.consensus->state() != nullptr; });
  }
};

}  // namespace gpl::peer::test
