#pragma once

// Sees everything that the members of the consensus send, commit and apply, and holds it against
// the rules (Ongaro's thesis, figure 3.2): one leader a term, logs that agree, committed entries
// that every later leader has, state machines that agree, and votes and terms that survive a crash.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gpl/peer/replica.h"
#include "gpl/raft/message.h"
#include "gpl/raft/node.h"
#include "sim/world.h"

namespace gpl::sim {

class ConsensusChecker {
 public:
  explicit ConsensusChecker(World& world) : world_(world) {}

  /// Node `id` says this to another.
  void sent(const raft::Message& message);
  /// The node has begun, or begun anew, with what its disk had.
  void started(const raft::Node& node, raft::Index applied, std::uint64_t digest);
  void applied(raft::NodeId id, const peer::AppliedEntry& entry, std::uint64_t digest);
  /// A snapshot has taken the place of its state.
  void restored(raft::NodeId id, raft::Index applied, std::uint64_t digest);
  void after_event(const raft::Node& node);

  raft::Index highest_committed() const { return committed_.size(); }
  /// Of the terms that have had a leader.
  raft::Term highest_term() const { return leaders_.empty() ? 0 : leaders_.rbegin()->first; }

 private:
  /// What a node has told others that it will not go back on.
  struct Promises {
    raft::Term term = 0;
    std::map<raft::Term, raft::NodeId> votes;
  };
  struct Committed {
    raft::Term term = 0;
    raft::Term in_term = 0;  ///< of the leader that committed it
    bool applied = false;
    peer::AppliedEntry entry;  ///< as the first to apply it did
    std::uint64_t digest = 0;
  };

  void promise(raft::NodeId id, raft::Term term);
  void vote(raft::NodeId id, raft::Term term, raft::NodeId candidate);
  void entries_sent(raft::NodeId from, const std::vector<raft::Entry>& entries);
  void leads(const raft::Node& node);
  void commits(const raft::Node& node, raft::Index index, raft::Term term);
  void same_state(raft::NodeId id, raft::Index applied, std::uint64_t digest);

  World& world_;
  std::map<raft::NodeId, Promises> promises_;
  std::map<raft::Term, raft::NodeId> leaders_;
  std::map<std::pair<raft::Index, raft::Term>, std::uint64_t> contents_;
  std::vector<Committed> committed_;  ///< [index - 1]
  std::map<raft::NodeId, raft::Index> commit_seen_;
  std::map<raft::NodeId, raft::Index> applied_seen_;
};

}  // namespace gpl::sim
