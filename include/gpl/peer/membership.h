#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "gpl/core/lease.h"
#include "gpl/core/time.h"
#include "gpl/peer/reach.h"
#include "gpl/peer/replica.h"
#include "gpl/raft/voter_choice.h"

namespace gpl::peer {

/// A node's number is its peer's: a state folder that was lost makes a new one.
inline PeerId peer_of(raft::NodeId node) { return PeerId{node.value}; }
inline raft::NodeId node_of(PeerId peer) { return raft::NodeId{peer.value}; }

/// What this peer's machine is as a voter's.
struct Standing {
  bool on_battery = false;
  bool wireless = false;
  Instant process_began;
};

/// What a leader does about who is a member, one change at a time: adds every linked peer as a
/// learner, chooses voters among them, lets go of those that say that they are about to end or
/// leave, or were forgotten.
class Membership {
 public:
  Membership(raft::NodeId self, Standing own) : self_(self), own_(own) {}

  // Also while it does not lead.
  void linked(PeerId peer);
  void unlinked(PeerId peer);
  /// The peer said GiveUp.
  void asked_to_let_go(PeerId peer, bool leave);
  /// Given up by a person: to be no member any more unless it is back.
  void forgotten(PeerId peer);
  /// This peer itself is about to end, or stays after all.
  void give_up_self(bool gives_up) { self_gives_up_ = gives_up; }

  /// The next change, if there is one to be made. Requires that the replica's node leads.
  void look_after(Replica& replica, const Reach& reach, const Clocks& clocks);
  /// Those whose GiveUp is done with now; each once.
  std::vector<PeerId> let_go(const Replica& replica);

 private:
  struct Departure {
    bool leave = false;
    bool told = false;                     ///< its GiveUp has been answered
    bool linked = true;                    ///< on the link that it said so on
    std::optional<Moment> record_dropped;  ///< when that was proposed
  };

  bool is_leaving(raft::NodeId node) const;
  bool gives_up(raft::NodeId node) const;
  bool add_linked(Replica& replica, const Reach& reach);
  bool remove_leaving(Replica& replica);
  void choose_voters(Replica& replica, const Reach& reach, Moment now);
  void drop_records(Replica& replica, const Clocks& clocks);
  raft::MemberFacts facts_of(const Replica& replica, const Reach& reach, raft::NodeId node,
                             Moment now) const;

  raft::NodeId self_;
  Standing own_;
  bool self_gives_up_ = false;
  std::map<PeerId, Departure> departures_;
  std::set<PeerId> forgotten_;
  raft::Term term_ = 0;  ///< that it leads in...
  Moment began_;         ///< ...since
  std::optional<Moment> handed_over_;
};

}  // namespace gpl::peer
