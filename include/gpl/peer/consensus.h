#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpl/core/coordinator.h"
#include "gpl/core/result.h"
#include "gpl/net/loop.h"
#include "gpl/peer/leader.h"
#include "gpl/peer/membership.h"
#include "gpl/peer/proposals.h"
#include "gpl/peer/reach.h"
#include "gpl/peer/replica.h"
#include "gpl/store/commit_thread.h"
#include "gpl/store/folder_disk.h"
#include "gpl/wire/link_message.h"

namespace gpl::peer {

/// What a peer's copy of the cluster's state is opened with.
struct ConsensusOptions {
  std::string folder;  ///< of the log
  raft::NodeId node;
  bool found = false;  ///< the folder may be empty: this node begins a cluster, as its only voter
  bool join = false;   ///< the folder may be empty: this node waits to be added by the others
  std::uint64_t segment_bytes = std::uint64_t{16} * 1024 * 1024;
  std::uint64_t snapshot_after_entries = ReplicaOptions{}.snapshot_after_entries;
  Standing standing;  ///< of this machine; the others' are in their hellos
  CoordinatorOptions coordinator;
};

/// What is known of the consensus, for people.
struct ConsensusFacts {
  PeerId leader;  ///< 0: none known
  std::vector<PeerId> voters;
  std::vector<PeerId> learners;
  std::uint32_t can_lose = 0;  ///< so many machines without losing anything acknowledged
  bool unprotected = false;    ///< two peers, and the second does not keep up with the log
};

/// The replicated state on the loop: a Replica over the real disk, and the Leader that it feeds,
/// with their timers. Every peer of the cluster has one: the first few are voters, all others
/// learners, so that each answers from a state of its own. When the log cannot be written (a full
/// disk) it is closed, everything that was proposed fails, and it is opened anew until that works:
/// the process stays up.
///
/// While it leads it adds every linked peer as a learner, and makes voters of some: 1 of one or two
/// peers, 3 from three, 5 from seven.
class Consensus {
 public:
  struct Told {
    /// After the state has applied it, and before who proposed it is told. Not before `ready`.
    std::function<void(const AppliedEntry&)> applied;
    /// `state()` is there: all that the leader had committed when it was heard of first has been
    /// applied, or nobody leads and this is what is known. Told again when the state was replaced
    /// as a whole. Look at all of it anew.
    std::function<void()> ready;
    /// Another leads, or nobody: what the keeper said may not have arrived, and its session begins
    /// anew.
    std::function<void()> leader_changed;
    /// To the worker of this peer.
    std::function<void(const LeaderToWorker&)> to_worker;
    std::function<void(const std::string&)> note;
    /// It is closed, and will be opened anew (`ready` tells).
    std::function<void(const Error&)> closed;
  };
  using Done = std::function<void(Result<Applied>)>;

  /// Reads the log (blocking). Errors as of Replica::open. The loop must outlive it.
  static Result<std::unique_ptr<Consensus>> open(net::Loop& loop, ConsensusOptions options,
                                                 PlacementRule rule, Reach reach, Told told);
  ~Consensus();
  Consensus(const Consensus&) = delete;
  Consensus& operator=(const Consensus&) = delete;

  /// Here or through the leader, also when that changes meanwhile: the command may be proposed more
  /// than once, and must be one that may be. `done` is called from the loop, never from within:
  /// with what it did once it is durable and applied here, or Code::busy (no leader for a minute,
  /// or this peer's log was closed), Code::io (the disk), Code::too_large.
  void propose(Command command, Done done);
  /// What this peer's worker says, to whoever leads.
  void to_leader(const WorkerToLeader& message);
  /// RaftSays, WorkerSays, LeaderSays, Propose, Proposed, NotProposed, GiveUp and GivenUp; all
  /// others are passed over.
  void take(PeerId from, const wire::LinkMessage& message);
  /// A link came or went.
  void link_changed(PeerId peer);
  /// As Coordinator::forget. Code::busy when this peer does not lead.
  Status forget(PeerId peer);
  /// This process is about to end, or the peer leaves for good: hands leadership over and gives up
  /// its vote; with `leave` it is no member any more, and its record is dropped. `done` is called
  /// once, from the loop: fine at once for a lone peer, Code::busy when it took longer than
  /// `at_most`.
  void give_up(bool leave, Duration at_most, std::function<void(Status)> done);

  /// Null until it is ready.
  const ClusterState* state() const;
  bool leads() const { return replica_ && leader_ && leader_->coordinator().leads(); }
  /// Since when it leads; nothing while it does not.
  std::optional<Moment> leads_since() const { return leads_since_; }
  /// Since when the present leader is known; nothing while there is none.
  std::optional<Moment> led_since() const { return led_since_; }
  ConsensusFacts facts() const;
  /// Whether this peer is a voter or a learner, as far as it knows.
  bool is_member() const;
  /// Why it was closed, until it is ready again.
  const std::optional<Error>& failure() const { return failure_; }

 private:
  class SystemClock final : public Clock {
   public:
    Moment now() const override;
    Instant wall() const override;
  };
  class Links final : public Transport {
   public:
    explicit Links(const Reach& reach) : reach_(reach) {}
    void send(raft::Message message) override;

   private:
    const Reach& reach_;
  };
  struct GivingUp {
    bool leave = false;
    Moment until;
    std::function<void(Status)> done;
    PeerId asked;   ///< the leader that was asked last
    Moment ask_at;  ///< again
  };

  Consensus(net::Loop& loop, ConsensusOptions options, PlacementRule rule, Reach reach, Told told);

  // Opening, closing, and what follows from any event (consensus.cc).
  Status start();
  Status open_replica();
  void shut();
  void after_event();
  void tick();
  void set_timer();
  void applied(const AppliedEntry& entry);
  void restored();
  void stopped(const Error& error);
  void open_again();

  // What is known of the leader, and of how current the state is (consensus_standing.cc).
  bool is_elected() const;
  PeerId self() const { return peer_of(options_.node); }
  PeerId leader_now() const;
  void note_leader(Moment now);
  void note_commit(PeerId from, const raft::Message& message);
  Moment waits_until() const;
  bool is_current(Moment now) const;
  void note_ready(Moment now);
  void become_ready();
  std::uint32_t can_lose(const raft::Configuration& members) const;
  bool answers(raft::NodeId node) const;

  // What goes over the links, and to the leader (consensus_links.cc).
  void hear(PeerId from, const WorkerToLeader& message);
  void take_proposal(PeerId from, const wire::Propose& asked);
  void run_proposals(Moment now);
  void tell_finished();

  // Members come and go (consensus_members.cc).
  void look_after_members(Moment now);
  void note_forgotten(const AppliedEntry& entry);
  bool has_nothing_to_give_up() const;
  void go_on_giving_up(Moment now);
  void given_up(Status status);

  net::Loop& loop_;
  ConsensusOptions options_;
  PlacementRule rule_;
  Reach reach_;
  Told told_;
  SystemClock clock_;
  Links links_{reach_};
  std::unique_ptr<store::FolderDisk> disk_;
  std::unique_ptr<store::CommitThread> committer_;
  std::unique_ptr<Replica> replica_;
  std::unique_ptr<Leader> leader_;
  net::Watch completions_;
  net::Timer timer_;
  Proposals proposals_;
  Membership membership_;
  Moment members_at_;  ///< looked after then, at the latest
  std::optional<GivingUp> giving_up_;
  std::optional<Moment> leads_since_;
  PeerId known_leader_;
  std::optional<Moment> led_since_;
  bool ready_ = false;
  bool ready_coming_ = false;
  Moment opened_at_;
  raft::Term heard_term_ = 0;  ///< of the leader whose commit index this is
  raft::Index heard_commit_ = 0;
  std::vector<std::pair<PeerId, WorkerToLeader>> heard_;  ///< of this turn
  std::optional<Error> failure_;
  bool stopping_ = false;  ///< the replica has stopped, and is to be let go of
  /// What is put off to the end of a turn must not find this gone.
  std::shared_ptr<Consensus*> self_;
};

}  // namespace gpl::peer
