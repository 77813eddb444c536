#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gpl/peer/clock.h"
#include "gpl/peer/replica.h"
#include "gpl/peer/transport.h"
#include "hand_committer.h"
#include "store/memory_disk.h"

namespace gpl::peer::test {

using raft::NodeId;

inline constexpr NodeId one{1};
inline constexpr NodeId two{2};
inline constexpr NodeId three{3};
inline const raft::Configuration lone_voter{{one}, {}};
inline const raft::Configuration three_voters{{one, two, three}, {}};

class HandClock : public Clock {
 public:
  Moment now() const override { return now_; }
  Instant wall() const override { return Instant{1'700'000'000'000 + now_.since_boot_ms}; }
  void advance(Duration by) { now_ = now_ + by; }
  void advance_to(Moment moment) {
    if (now_ < moment) now_ = moment;
  }

 private:
  Moment now_{1'000'000};
};

class RecordingTransport final : public Transport {
 public:
  void send(raft::Message message) override { sent.push_back(std::move(message)); }

  /// The bodies of this kind that were sent, in order.
  template <class Body>
  std::vector<Body> bodies() const {
    std::vector<Body> found;
    for (const auto& message : sent)
      if (const auto* body = std::get_if<Body>(&message.body)) found.push_back(*body);
    return found;
  }

  std::vector<raft::Message> sent;
};

/// A job whose argv has about so many bytes. The number tells its request from others.
inline command::Submit submit(std::uint64_t number, std::size_t bytes = 0) {
  command::Submit command;
  command.request = {7, number};
  command.job.spec.command = {"true", std::string(bytes, 'x')};
  command.at = Instant{1'700'000'000'000};
  return command;
}

/// A replica with all around it, and what it has told since it was opened.
struct Member {
  NodeId id;
  HandClock& clock;
  MemoryDisk disk;
  ReplicaOptions options;
  std::optional<HandCommitter> committer;
  RecordingTransport transport;
  std::unique_ptr<Replica> replica;
  std::vector<AppliedEntry> applied;
  int restored = 0;
  std::vector<Error> stopped;
  std::vector<std::string> notes;
  // For a leader.
  std::function<void(const AppliedEntry&)> on_applied;
  std::function<void()> after_event;

  Member(NodeId member, HandClock& member_clock) : id(member), clock(member_clock) {
    options.raft.id = id;
    options.raft.kept_entries = 0;
    options.wal.segment_bytes = 4096;
  }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  /// As at the start of a process.
  void open(const raft::Configuration& bootstrap) {
    committer.emplace(disk);
    transport.sent.clear();
    applied.clear();
    restored = 0;
    stopped.clear();
    notes.clear();
    auto opened = Replica::open(options, {disk, *committer, transport, clock},
                                {.applied =
                                     [this](const AppliedEntry& entry) {
                                       applied.push_back(entry);
                                       if (on_applied) on_applied(entry);
                                     },
                                 .restored = [this] { ++restored; },
                                 .stopped = [this](const Error& e) { stopped.push_back(e); },
                                 .note = [this](const std::string& n) { notes.push_back(n); }},
                                bootstrap);
    if (!opened.ok()) FAIL(opened.error().message);
    replica = std::move(opened).value();
  }
  /// As after a power loss: nothing is left of what was not synced.
  void reopen() {
    replica.reset();
    disk.lose_power([](const std::string&, std::uint64_t) { return false; });
    open({});
  }
  void run(store::Committer::Lane lane) {
    while (committer->step(lane)) event_ended();
  }
  /// Performs all that is in the lanes.
  void settle() {
    while (!committer->idle()) {
      run(log_lane);
      run(background);
    }
  }
  void receive(raft::Message message) {
    replica->receive(std::move(message));
    event_ended();
  }
  void receive(NodeId from, raft::Term term, raft::Body body) {
    receive({from, id, term, std::move(body)});
  }
  void tick() {
    replica->tick();
    event_ended();
  }
  const raft::Node& node() const { return replica->node(); }
  const ClusterState& state() const { return replica->state(); }

  Replica::Proposed propose(const std::vector<Command>& commands) {
    auto proposed = replica->propose(commands);
    if (!proposed.ok()) FAIL(proposed.error().message);
    return proposed.value();
  }
  /// The indices of what was applied.
  std::vector<raft::Index> applied_indices() const {
    std::vector<raft::Index> indices;
    for (const auto& entry : applied) indices.push_back(entry.index);
    return indices;
  }
  bool has_job(std::uint64_t number) const {
    return state().find_request(RequestId{7, number}).has_value();
  }
  void event_ended() {
    if (after_event) after_event();
  }
  std::size_t log_syncs() const {
    std::size_t found = 0;
    for (const auto& operation : committer->performed()) {
      const auto* sync = std::get_if<store::Sync>(&operation);
      if (sync != nullptr && sync->name.starts_with("wal-")) ++found;
    }
    return found;
  }
};

/// A founder that leads.
struct LoneVoter : HandClock, Member {
  explicit LoneVoter(const ReplicaOptions& given = {}) : Member(one, *this) {
    options.snapshot_after_entries = given.snapshot_after_entries;
    options.snapshot_after_bytes = given.snapshot_after_bytes;
    options.unapplied_limit_bytes = given.unapplied_limit_bytes;
    open(lone_voter);
    settle();
    REQUIRE(node().leads());
    applied.clear();
  }
};

}  // namespace gpl::peer::test
