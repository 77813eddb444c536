#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "gpl/core/prng.h"
#include "gpl/raft/log.h"
#include "gpl/raft/node.h"
#include "gpl/raft/persist_queue.h"
#include "gpl/raft/progress.h"

namespace gpl::raft {

/// No term or index of a message goes beyond this: it comes from a node that is not well, and would
/// bring the arithmetic to its end.
inline constexpr std::uint64_t plausible_limit = std::uint64_t{1} << 62;

/// While it asks for votes, or for pre-votes.
struct Ballot {
  std::vector<NodeId> granted;
  std::uint64_t own_sequence = 0;  ///< the persist that holds its own vote; 0: of a pre-vote
  bool own_counted = false;
  bool transfer = false;
  Moment ask_at;  ///< those who have not granted, again
};

/// The handing over of leadership.
struct Transfer {
  NodeId to;
  Moment until;
  bool asked = false;
};

/// What only a leader has.
struct Leadership {
  std::vector<Progress> followers;  ///< by id: all in the configuration but itself
  Index noop = 0;                   ///< of its term
  Moment heartbeat_at;
  std::uint64_t round = 0;
  std::deque<Moment> rounds_sent;  ///< when the present round was begun, and those before it
  Index round_last = 0;            ///< last index when the present round began
  Index previous_round_last = 0;   ///< and the one before
  std::optional<Transfer> transfer;
};

/// A snapshot that arrives.
struct Incoming {
  NodeId from;
  SnapshotMark mark;
  std::uint64_t next_offset = 0;
  bool installing = false;  ///< the last piece was handed out
};

/// All of a node. The functions of election.h, replication.h, following.h, handover.h, membership.h
/// and snapshot_transfer.h are its parts; each leaves it whole.
struct Node::State {
  State(Options given, Restored restored, Moment start);

  Options options;
  Prng prng;
  Moment now;
  HardState hard;
  Role role = Role::follower;
  NodeId leader;
  Log log;
  PersistQueue disk;
  Index commit = 0;
  Index handed = 0;  ///< the last entry given out as committed
  Output out;

  Moment heard;      ///< from `leader`
  Index agreed = 0;  ///< the log is known to be the leader's up to here
  Moment election_at;
  std::optional<Incoming> incoming;
  Moment refused_until;  ///< no snapshot is taken before

  Ballot ballot;
  Leadership lead;
  std::vector<Index> matches;  ///< room to find a median in

  const Configuration& configuration() const { return log.configuration(); }
  bool is_voter() const { return configuration().is_voter(options.id); }
  /// It was a voter, and its removal is not known to be committed. It may be the only one that has
  /// the entry, and then no other can be elected before it has led once more (section 4.2.2).
  bool is_leaving() const {
    const Index index = log.configuration_index();
    return !is_voter() && index > commit && log.configuration_at(index - 1).is_voter(options.id);
  }
  bool is_lone_voter() const { return is_voter() && configuration().voters.size() == 1; }
  /// Committed, and on this disk.
  Index applicable() const { return std::min(commit, disk.synced_index()); }
  /// While a snapshot is being installed nothing: the state may be ahead already, or it is refused.
  bool has_to_apply() const { return applicable() > handed && !installing(); }
  bool installing() const { return incoming && incoming->installing; }
  Progress* follower(NodeId id);
  const Progress* follower(NodeId id) const;

  /// Sends at once.
  void send(NodeId to, Body body, Term term) {
    out.send_now.push_back({options.id, to, term, std::move(body)});
  }
  void send(NodeId to, Body body) { send(to, std::move(body), hard.term); }
  /// Sends when all that has changed until now is synced.
  void send_synced(NodeId to, Body body) {
    out.send_synced.push_back({options.id, to, hard.term, std::move(body)});
  }
  /// Sends as soon as the present term is on disk.
  void answer(NodeId to, Body body) {
    disk.hard_state_synced() ? send(to, std::move(body)) : send_synced(to, std::move(body));
  }
};

using State = Node::State;

}  // namespace gpl::raft
