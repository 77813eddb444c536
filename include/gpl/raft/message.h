#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "gpl/raft/configuration.h"
#include "gpl/raft/entry.h"

namespace gpl::raft {

/// Would you vote for me? Changes nothing at either side (Ongaro's thesis, section 9.6). The
/// message's term is the one that the asker would campaign in.
struct PreVoteRequest {
  Index last_index = 0;
  Term last_term = 0;
  friend bool operator==(const PreVoteRequest&, const PreVoteRequest&) = default;
};
struct PreVoteReply {
  bool granted = false;
  friend bool operator==(const PreVoteReply&, const PreVoteReply&) = default;
};
struct VoteRequest {
  Index last_index = 0;
  Term last_term = 0;
  bool transfer = false;  ///< the leader asked for this: do not refuse because one is alive
  friend bool operator==(const VoteRequest&, const VoteRequest&) = default;
};
struct VoteReply {
  bool granted = false;
  friend bool operator==(const VoteReply&, const VoteReply&) = default;
};
/// Entries after `previous`; without entries: a heartbeat.
struct Append {
  Index previous_index = 0;
  Term previous_term = 0;
  Index commit = 0;
  std::uint64_t round = 0;  ///< answered as it is: which heartbeat an answer belongs to
  std::vector<Entry> entries;
  friend bool operator==(const Append&, const Append&) = default;
};
struct AppendReply {
  bool accepted = false;
  Index match = 0;     ///< accepted: synced here, and the same as the leader's up to there
  Index hint = 0;      ///< refused: the leader may go on from this index...
  Term hint_term = 0;  ///< ...whose entry here has this term
  std::uint64_t round = 0;
  friend bool operator==(const AppendReply&, const AppendReply&) = default;
};
/// A piece of the leader's snapshot.
struct InstallSnapshot {
  SnapshotMark mark;
  std::uint64_t offset = 0;
  std::string data;
  bool last = false;  ///< the piece that ends it
  std::uint64_t round = 0;
  friend bool operator==(const InstallSnapshot&, const InstallSnapshot&) = default;
};
struct InstallSnapshotReply {
  Index index = 0;                ///< of the mark
  std::uint64_t next_offset = 0;  ///< what the follower has, without a gap
  bool installed = false;
  std::uint64_t round = 0;
  friend bool operator==(const InstallSnapshotReply&, const InstallSnapshotReply&) = default;
};
/// Campaign at once: the sender hands its leadership over.
struct TimeoutNow {
  friend bool operator==(const TimeoutNow&, const TimeoutNow&) = default;
};

using Body = std::variant<PreVoteRequest, PreVoteReply, VoteRequest, VoteReply, Append, AppendReply,
                          InstallSnapshot, InstallSnapshotReply, TimeoutNow>;

/// What nodes say to each other. May be lost, doubled, late and out of order.
struct Message {
  NodeId from;
  NodeId to;
  Term term = 0;
  Body body;
  friend bool operator==(const Message&, const Message&) = default;
};

}  // namespace gpl::raft
