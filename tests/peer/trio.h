#pragma once

#include <array>
#include <set>
#include <utility>
#include <vector>

#include "member.h"

namespace gpl::peer::test {

/// Three voters whose messages are delivered by hand.
struct Trio {
  HandClock clock;
  Member a{one, clock};
  Member b{two, clock};
  Member c{three, clock};
  std::set<NodeId> cut_off;       ///< nothing comes from there or gets there
  std::set<NodeId> stalled_logs;  ///< disks that write no log; the background lane goes on

  /// The options of all but for their ids.
  explicit Trio(const ReplicaOptions& options = {}) {
    for (Member* member : members()) {
      member->options.snapshot_after_entries = options.snapshot_after_entries;
      member->options.unapplied_limit_bytes = options.unapplied_limit_bytes;
      member->options.raft.snapshot_piece_bytes = options.raft.snapshot_piece_bytes;
      member->open(three_voters);
    }
  }

  std::array<Member*, 3> members() { return {&a, &b, &c}; }
  Member& member(NodeId id) { return id == one ? a : id == two ? b : c; }

  /// Hands over what has been sent so far. False: nothing was.
  bool deliver() {
    std::vector<raft::Message> messages;
    for (Member* from : members())
      for (auto& message : std::exchange(from->transport.sent, {}))
        messages.push_back(std::move(message));
    for (auto& message : messages) {
      if (cut_off.contains(message.from) || cut_off.contains(message.to)) continue;
      Member& to = member(message.to);
      to.receive(std::move(message));
    }
    return !messages.empty();
  }
  /// Until all disks are idle and nobody has anything more to say.
  void settle() {
    do {
      for (Member* member : members()) {
        if (!stalled_logs.contains(member->id)) member->run(log_lane);
        member->run(background);
        if (!stalled_logs.contains(member->id)) member->run(log_lane);
      }
    } while (deliver());
  }
  /// Its time is up: it campaigns, and wins.
  void elect(Member& candidate) {
    clock.advance(candidate.options.raft.election_timeout);
    clock.advance_to(candidate.node().wake_at());
    candidate.tick();
    settle();
    REQUIRE(candidate.node().leads());
    beat(candidate);
  }
  /// A heartbeat of the leader, and all that follows from it.
  void beat(Member& leader) {
    clock.advance(leader.options.raft.heartbeat);
    leader.tick();
    settle();
  }
};

}  // namespace gpl::peer::test
