#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpl/core/cluster_state.h"
#include "gpl/core/command.h"
#include "gpl/core/result.h"
#include "gpl/peer/clock.h"
#include "gpl/peer/commit_queue.h"
#include "gpl/peer/snapshots.h"
#include "gpl/peer/transport.h"
#include "gpl/raft/node.h"
#include "gpl/store/wal.h"

namespace gpl::peer {

struct ReplicaOptions {
  raft::Options raft;
  store::WalOptions wal;
  std::uint64_t snapshot_after_entries = 100'000;  ///< applied since the last snapshot
  std::uint64_t snapshot_after_bytes = std::uint64_t{64} * 1024 * 1024;
  /// Proposed here and not yet applied: more is refused, so that a leader without its majority does
  /// not fill its memory.
  std::uint64_t unapplied_limit_bytes = std::uint64_t{64} * 1024 * 1024;
};

/// What a log entry did when it was applied here.
struct AppliedEntry {
  raft::Index index = 0;
  raft::Term term = 0;
  std::vector<Command> commands;
  std::vector<Applied> results;  ///< as many
};

/// One member's copy of the cluster's state: feeds events to the consensus, performs its Outputs in
/// their order over Disk, Clock and Transport, and applies what has committed. It is the only code
/// that does so; the simulator runs it over fakes. All calls on the loop; the committer calls back
/// there. When the log cannot be written it stops: it says nothing more to anyone, since it no
/// longer knows what of it would survive. It must not be destroyed from within what it tells, and
/// its committer has to go first, as that calls back.
class Replica {
 public:
  /// Told on the loop, from within an event, or when the committer tells what it has done.
  struct Told {
    std::function<void(const AppliedEntry&)> applied;
    /// The state was replaced by a leader's snapshot: look at all of it anew.
    std::function<void()> restored;
    std::function<void(const Error&)> stopped;
    std::function<void(const std::string&)> note;  ///< for the log
  };
  struct Around {
    store::Disk& disk;
    store::Committer& committer;
    Transport& transport;
    const Clock& clock;
  };

  /// Reads what is on disk (blocking), or begins anew with `bootstrap`: {this node} as the voter
  /// founds a cluster, empty waits to be added to one.
  static Result<std::unique_ptr<Replica>> open(const ReplicaOptions& options, Around around,
                                               Told told, const raft::Configuration& bootstrap);

  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  // Events. Nothing happens once it has stopped.
  void tick();
  void receive(raft::Message message);
  /// One log entry. Committed once `applied` tells of an entry of this index and term; another term
  /// at this index: it is lost. Errors as `raft::Node::propose`; Code::busy also when too much that
  /// was proposed waits to be applied.
  struct Proposed {
    raft::Index index = 0;
    raft::Term term = 0;
  };
  Result<Proposed> propose(const std::vector<Command>& commands);
  Result<raft::Index> add_learner(raft::NodeId id);
  Result<raft::Index> promote(raft::NodeId id);
  Result<raft::Index> remove(raft::NodeId id);
  Status transfer(raft::NodeId to);
  /// As `raft::Node::reached`.
  void reached(raft::NodeId id);

  /// When `tick` is due at the latest. Nothing: it has stopped.
  std::optional<Moment> wake_at() const {
    return failure_ ? std::nullopt : std::optional(node_.wake_at());
  }
  const raft::Node& node() const { return node_; }
  const ClusterState& state() const { return state_; }
  raft::Index applied_index() const { return applied_; }
  raft::Term applied_term() const { return applied_term_; }  ///< of that entry
  Duration election_timeout() const { return options_.raft.election_timeout; }
  const std::optional<Error>& failure() const { return failure_; }
  std::uint64_t batches() const { return queue_.batches(); }  ///< written to the log so far

 private:
  Replica(const ReplicaOptions& options, Around around, Told told, store::Wal wal,
          ClusterState state, raft::Restored restored);
  template <class F>
  void feed(F&& event);
  template <class Answer, class F>
  Answer ask(F&& event);
  void perform();
  void perform(raft::Output output);
  void apply(raft::Entry& entry);
  void forget_proposed_to(raft::Index index);
  void snapshot_if_due();
  bool is_snapshot_due() const;
  void compact(const raft::SnapshotMark& mark);
  void saved(const raft::SnapshotMark& mark);
  void received(const raft::SnapshotMark& mark, ClusterState state);
  void refused(const raft::SnapshotMark& mark);
  void stop(Error error);

  ReplicaOptions options_;
  Around around_;
  Told told_;
  store::Wal wal_;
  ClusterState state_;
  raft::Index applied_ = 0;  ///< the last entry that the state stands for
  raft::Term applied_term_ = 0;
  raft::Node node_;
  CommitQueue queue_;
  Snapshots snapshots_;
  std::optional<Error> failure_;
  raft::Index snapshot_index_ = 0;  ///< of the newest one taken
  std::uint64_t bytes_since_snapshot_ = 0;
  struct Unapplied {
    raft::Index index = 0;
    std::uint64_t bytes = 0;
  };
  std::deque<Unapplied> unapplied_;  ///< proposed here
  std::uint64_t unapplied_bytes_ = 0;
  bool performing_ = false;
  bool fed_meanwhile_ = false;  ///< an event came while an Output was performed
};

}  // namespace gpl::peer
