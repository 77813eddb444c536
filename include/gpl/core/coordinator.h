#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "gpl/core/cluster_state.h"
#include "gpl/core/command.h"
#include "gpl/core/id.h"
#include "gpl/core/lease.h"
#include "gpl/core/result.h"
#include "gpl/core/time.h"
#include "gpl/core/worker_message.h"

namespace gpl {

/// What a leader sees as an event comes in.
struct LeaderView {
  Clocks clocks;
  /// The latest moment at which it is known to have led: when what a majority has answered in this
  /// term was sent (in the raft, the newest heartbeat round that a majority has answered). Not when
  /// the answers came.
  Moment confirmed;
  /// As far as commands have been applied.
  const ClusterState& state;
};

/// What a placement rule has found.
struct Placements {
  std::vector<command::Place> places;
  bool complete = true;  ///< else the rule has more to look at, and is asked again soon
};
/// Where waiting tasks are to start. Must not place on a peer that is down.
using PlacementRule = std::function<Placements(const ClusterState&, Instant)>;

struct CoordinatorOptions {
  Duration silence = seconds(10);           ///< of a peer, after which it is unreachable
  Duration pass_every = milliseconds(500);  ///< over all peers and attempts
  Duration place_every = milliseconds(10);  ///< the placement rule is asked, at most
  Duration propose_again = seconds(5);      ///< what has not been applied, or was refused
  /// For attempts that were given up while their peer was away, and are being ended on its return:
  /// what they hold is not placed again before. What takes longer cannot be killed.
  Duration ending_limit = seconds(15);
  /// Of a command: it has to fit an entry of the log.
  std::size_t most_fences = 1024;
};

struct AddressedToWorker {
  PeerId to;
  LeaderToWorker message;
  friend bool operator==(const AddressedToWorker&, const AddressedToWorker&) = default;
};

/// What a coordinator wants done after an event.
struct CoordinatorOutput {
  std::vector<Command> propose;  ///< in this order
  std::vector<AddressedToWorker> send;

  bool empty() const { return propose.empty() && send.empty(); }
};

/// What a leader does about peers and their attempts: the leader's half of the attempt and lease
/// model. A state machine without input or output; nothing in it outlives the leadership. It
/// compares what the replicated state says with what each worker's session says, and proposes the
/// commands and gives the orders that bring the two together. It tells nothing to a worker that
/// rests on a command not yet applied, and places nothing by itself.
///
/// Feed it an event, take the output, perform it, feed the next. While it does not lead, events
/// change nothing.
class Coordinator {
 public:
  Coordinator(PlacementRule rule, CoordinatorOptions options);

  // Events.
  /// Requires that all commands of earlier terms have been applied: the term's no-op has.
  void began_to_lead(const LeaderView& view, std::uint64_t term);
  void stopped_leading();
  void receive(const LeaderView& view, PeerId from, const WorkerToLeader& message);
  /// To be called for every command of the log, right after the state has applied it.
  void applied(const LeaderView& view, const Command& command, const Applied& applied);
  void tick(const LeaderView& view);
  /// A person gives the peer up: it is forgotten once its leases are over, unless it comes back
  /// before that, or another leads by then (who does not know of it). Code::not_found for an
  /// unknown peer; Code::busy for one that is not (yet) known to be unreachable, or when this is
  /// not the leader.
  Status forget(const LeaderView& view, PeerId peer);

  CoordinatorOutput take_output();
  /// When `tick` is to be called at the latest; nothing while it does not lead.
  std::optional<Moment> wake_at() const;
  bool leads() const { return leads_; }
  /// Until when an attempt with this lease may be running on the peer. Requires `leads()`.
  const LeaseLedger& ledger() const { return ledger_; }

 private:
  /// An attempt that the worker of a session has, or has been ordered to have.
  struct Known {
    std::optional<Instant> started_at;
    std::optional<EndedAttempt> ended;
    std::optional<Moment> told_to_end;
  };
  struct Session {
    SessionId id;
    std::string keeper;
    PeerOffer offer;
    std::uint64_t opening = 0;
    InOrder<std::variant<LiveAttempt, EndedAttempt>> tellings;
    std::uint64_t told_before = 0;  ///< what the renewal before the last said was told
    std::uint64_t ordered = 0;
    std::map<Fence, Known> known;
  };
  struct Contact {
    std::optional<Session> pending;  ///< welcomed; its worker has not been heard of since
    std::optional<Session> open;
    std::optional<Moment> heard_at;  ///< in an open session; nothing: not since this one leads
    std::string keeper;              ///< the one by which lost attempts have been judged; "": none
  };
  /// What a command under way is about; commands about the same are not proposed twice at a time.
  enum class Matter { place, start, report, lost, lease, up, down, forget };
  struct Concern {
    Matter matter = Matter::place;
    std::uint64_t first = 0;
    std::uint64_t second = 0;
    friend auto operator<=>(const Concern&, const Concern&) = default;
  };
  /// An attempt that is on its way out of the state: never ordered again.
  struct Condemned {
    PeerId peer;
    bool lease_over = false;  ///< else lost
  };

  // Sessions (coordinator_session.cc).
  void take(const LeaderView& view, PeerId from, const to_leader::Hello& hello);
  void take(const LeaderView& view, PeerId from, const to_leader::Renew& renew);
  void take(const LeaderView& view, PeerId from, const to_leader::Told& told);
  void grant(const LeaderView& view, PeerId peer, Session& session, Moment asked_at);
  void opened(const LeaderView& view, PeerId peer, Contact& contact);
  void judge_lost(const LeaderView& view, PeerId peer, Contact& contact);
  void take_tellings(const LeaderView& view, PeerId peer, Session& session);
  void order(PeerId peer, Session& session,
             std::variant<to_worker::Start, to_worker::End, to_worker::Acknowledge> what);

  // State and sessions brought together (coordinator_settle.cc).
  void settle(const LeaderView& view, PeerId peer, Session& session, const Fence& fence);
  void settle_placed(const LeaderView& view, PeerId peer, Session& session, const Attempt& attempt);
  void settle_unplaced(const LeaderView& view, PeerId peer, Session& session, const Fence& fence);
  void settle_all(const LeaderView& view, PeerId peer, Session& session);
  void settle_at(const LeaderView& view, PeerId peer, const Fence& fence);
  void settle_wherever(const LeaderView& view, const Fence& fence);
  void propose_start(const LeaderView& view, const Attempt& attempt, Instant at);
  void order_end(const LeaderView& view, PeerId peer, Session& session, const Fence& fence,
                 Known& known);
  void propose_outcome(const LeaderView& view, const Attempt& attempt, const EndedAttempt& ended);
  bool is_still_ending(const LeaderView& view, PeerId peer, const Session& session) const;
  void announce(const LeaderView& view, PeerId peer, const Contact& contact);

  // Time and the log (coordinator.cc).
  void applied_to_peer(const LeaderView& view, const Command& command);
  void pass(const LeaderView& view);
  void hear_silence(const LeaderView& view, PeerId peer);
  void count_leases(const LeaderView& view, PeerId peer);
  void propose_condemned(const LeaderView& view);
  void propose_given_up(const LeaderView& view, PeerId peer, bool lease_over,
                        std::vector<Fence> fences);
  void propose_forgotten(const LeaderView& view);
  void place(const LeaderView& view);
  bool is_under_way(Moment now, const Concern& concern) const;
  void propose(Moment now, const Concern& concern, Command command);
  static Concern about(Matter matter, const Fence& fence);
  static Concern about(Matter matter, PeerId peer);
  static std::vector<Concern> concerns_of(const Command& command);

  PlacementRule rule_;
  CoordinatorOptions options_;
  bool leads_ = false;
  Leadership leadership_;
  Moment began_;
  LeaseLedger ledger_{Moment{}};
  std::uint64_t last_opening_ = 0;
  std::map<PeerId, Contact> contacts_;
  std::map<Concern, Moment> under_way_;  ///< since it was proposed, or refused
  std::map<Fence, Condemned> condemned_;
  std::set<PeerId> forgetting_;
  Moment next_pass_;
  Moment next_place_;
  bool place_due_ = false;
  CoordinatorOutput output_;
};

}  // namespace gpl
