#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gpl/core/coordinator.h"
#include "gpl/core/result.h"
#include "gpl/net/loop.h"
#include "gpl/peer/leader.h"
#include "gpl/peer/replica.h"
#include "gpl/store/commit_thread.h"
#include "gpl/store/folder_disk.h"

namespace gpl::peer {

/// What a peer's copy of the cluster's state is opened with.
struct ConsensusOptions {
  std::string folder;  ///< of the log
  raft::NodeId node;
  bool found = false;  ///< the folder may be empty: this node begins a cluster, as its only voter
  std::uint64_t segment_bytes = std::uint64_t{16} * 1024 * 1024;
  CoordinatorOptions coordinator;
};

/// The replicated state on the loop: a Replica over the real disk, and the Leader that it feeds,
/// with their timers. When the log cannot be written (a full disk) it is closed, everything that
/// was proposed fails, and it is opened anew until that works: the process stays up.
class Consensus {
 public:
  struct Told {
    /// After the state has applied it, and before who proposed it is told.
    std::function<void(const AppliedEntry&)> applied;
    /// It leads: all that was committed before has been applied. Look at all of the state anew.
    std::function<void()> leading;
    std::function<void(PeerId, const LeaderToWorker&)> send;
    std::function<void(const std::string&)> note;
    /// It is closed, and will be opened anew (`leading` tells).
    std::function<void(const Error&)> closed;
  };
  using Done = std::function<void(Result<Applied>)>;

  /// Reads the log (blocking). Errors as of Replica::open. The loop must outlive it.
  static Result<std::unique_ptr<Consensus>> open(net::Loop& loop, ConsensusOptions options,
                                                 PlacementRule rule, Told told);
  ~Consensus();
  Consensus(const Consensus&) = delete;
  Consensus& operator=(const Consensus&) = delete;

  /// `done` is called from the loop, never from within: with what the command did once it is
  /// durable and applied, or why it is not known to have been (Code::busy: told again, it may be
  /// taken; Code::io: the disk). A command that is told again must be one that may be.
  void propose(Command command, Done done);
  /// What a worker says; heard only by a leader.
  void receive(PeerId from, const WorkerToLeader& message);

  /// Null until it leads: what was committed before need not have been applied yet.
  const ClusterState* state() const { return leads() ? &replica_->state() : nullptr; }
  bool leads() const { return replica_ && leader_ && leader_->coordinator().leads(); }
  /// Since when it leads; nothing while it does not.
  std::optional<Moment> leads_since() const { return leads_since_; }
  /// Why it was closed, until it leads again.
  const std::optional<Error>& failure() const { return failure_; }

 private:
  class SystemClock final : public Clock {
   public:
    Moment now() const override;
    Instant wall() const override;
  };
  /// There is nobody else yet.
  class Alone final : public Transport {
   public:
    void send(raft::Message message) override { static_cast<void>(message); }
  };
  struct Proposal {
    raft::Term term = 0;
    Done done;
  };

  Consensus(net::Loop& loop, ConsensusOptions options, PlacementRule rule, Told told);
  Status start();
  void shut();
  void after_event();
  void applied(const AppliedEntry& entry);
  void settle(const AppliedEntry& entry);
  void leading();
  void tick();
  void stopped(const Error& error);
  void fail_proposals(const Error& error);
  void open_again();

  net::Loop& loop_;
  ConsensusOptions options_;
  PlacementRule rule_;
  Told told_;
  SystemClock clock_;
  Alone transport_;
  std::unique_ptr<store::FolderDisk> disk_;
  std::unique_ptr<store::CommitThread> committer_;
  std::unique_ptr<Replica> replica_;
  std::unique_ptr<Leader> leader_;
  net::Watch completions_;
  net::Timer timer_;
  std::multimap<raft::Index, Proposal> proposals_;
  std::optional<Moment> leads_since_;
  std::optional<Error> failure_;
  bool stopping_ = false;  ///< the replica has stopped, and is to be let go of
  /// What is put off to the end of a turn must not find this gone.
  std::shared_ptr<Consensus*> self_;
};

}  // namespace gpl::peer
