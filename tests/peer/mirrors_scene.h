#pragma once

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../core/state_fixture.h"
#include "far_peer.h"
#include "gpl/peer/local_attempts.h"
#include "gpl/peer/mirrors.h"
#include "parts.h"

namespace gpl::peer::test {

/// A peer that keeps copies of what runs on another.
struct MirrorsScene : Parts {
  static constexpr PeerId self = gpl::test::lab1;
  static constexpr PeerId worker = gpl::test::lab2;

  FarPeers peers{*loop};
  FarPeer& peer = peers.at(worker.value);
  std::set<PeerId> down;
  std::set<JobId> attached;
  std::set<Fence> under_way;
  std::vector<std::string> notes;
  std::uint64_t cap_bytes = std::uint64_t{1} << 20U;
  std::size_t most_questions = 200;
  gpl::test::Cluster cluster;
  std::optional<FarSessions> far;
  std::optional<LocalAttempts> attempts;
  std::optional<Mirrors> mirrors;

  MirrorsScene() { begin(); }
  ~MirrorsScene() { stop(); }

  void begin() {
    far.emplace(*loop, peers.connect(), "1.0");
    attempts.emplace([](JobId) {});
    mirrors.emplace(
        Mirrors::Around{*loop, *pool, *far, *attempts, self, folder.path(), cap_bytes,
                        most_questions, [](PeerId id) { return "lab" + std::to_string(id.value); },
                        [this](PeerId id) { return !down.contains(id); },
                        [this](JobId id) { return attached.contains(id); },
                        [this](const Fence& fence) { return under_way.contains(fence); },
                        [this](const std::string& note) { notes.push_back(note); }});
    const Status restored = mirrors->restore();
    REQUIRE(restored.ok());
  }
  void stop() {
    mirrors.reset();
    attempts.reset();
    far.reset();
  }
  /// As after a kill: what is on disk stays.
  void begin_again() {
    stop();
    begin();
  }

  /// Another job of a client of this peer, placed on the worker: its attempt.
  Fence place() {
    const Applied applied = cluster.fine(
        cluster.submit(gpl::test::one_task(), {{gpl::test::task(0), worker, gpl::test::cpus(0)}}));
    REQUIRE(applied.placed.size() == 1);
    const Attempt* attempt = cluster.state.find_attempt(applied.placed[0]);
    mirrors->placed(cluster.state, applied.placed[0]);
    under_way.insert(attempt->fence);
    return attempt->fence;
  }
  JobId job_of(const Fence& fence) const { return attempts->find(fence)->job; }
  /// The attempt is over, as far as the cluster's state says.
  void end(const Fence& fence) {
    cluster.fine(cluster.report(fence, Exited{0}));
    under_way.erase(fence);
  }

  /// What the worker was asked to follow, in order.
  std::vector<std::pair<std::uint32_t, wire::FollowAttempt>> follows() const {
    return peer.asked<wire::FollowAttempt>();
  }
  std::uint32_t followed(std::size_t count = 1) {
    until([&] { return follows().size() >= count; });
    return follows().back().first;
  }
  void say_output(std::uint32_t question, const std::string& data, std::uint64_t offset = 0,
                  std::uint64_t skipped = 0, wire::OutputStream stream = wire::OutputStream::out) {
    peer.say(question, wire::Output{{TaskId{}, AttemptId{}, stream, offset}, data, skipped});
  }
  const LocalAttempt& attempt(const Fence& fence) const {
    const LocalAttempt* found = attempts->find(fence);
    REQUIRE(found != nullptr);
    return *found;
  }
  void until_bytes(const Fence& fence, std::uint64_t out_bytes) {
    until([&] { return attempt(fence).out_bytes >= out_bytes; });
  }
  void until_complete(const Fence& fence) {
    until([&] { return mirrors->is_complete(fence); });
  }
  std::string content(const Fence& fence, const std::string& name = "stdout") const {
    std::ifstream in(mirrors->folder_of(fence) + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::uint64_t taken() const {
    std::uint64_t bytes = 0;
    for (const auto& [question, said] : peer.asked<wire::Taken>()) bytes += said.bytes;
    return bytes;
  }
};

}  // namespace gpl::peer::test
