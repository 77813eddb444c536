#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "gpl/core/allocation.h"
#include "gpl/core/cluster_state.h"
#include "gpl/core/id.h"
#include "gpl/core/peer_view.h"
#include "gpl/core/requirement.h"
#include "gpl/core/time.h"

namespace gpl {

/// A peer that takes work, as the placing goes on: what has been placed there counts, though the
/// state does not show it yet. Must not outlive the state, nor a change of it.
class Room {
 public:
  /// Requires a known peer.
  Room(const ClusterState& state, PeerId peer)
      : state_(&state), peer_(peer), free_cpus_(state.free_cpus(peer)) {}

  PeerId peer() const { return peer_; }
  std::int64_t free_cpus() const { return free_cpus_; }
  /// How often something was placed there.
  std::uint64_t changes() const { return changes_; }
  /// Made when it is asked for: a full peer is passed over without.
  const PeerView& view();
  void take(JobId job, const Allocation& allocation);

 private:
  const ClusterState* state_;
  PeerId peer_;
  std::int64_t free_cpus_ = 0;
  std::uint64_t changes_ = 0;
  std::optional<PeerView> view_;
};

/// The peers that are up and open, by id.
std::vector<Room> open_rooms(const ClusterState& state, const std::set<PeerId>& away);
bool has_free_cpu(const std::vector<Room>& rooms);

// What an attempt has of a peer, in the peer's view. `let_go` takes back the latest `hold`.
void hold(PeerView& view, JobId job, const Allocation& allocation);
void let_go(PeerView& view, const Allocation& allocation);

/// How good a place is: the least of these is taken. The least capable devices come first, then the
/// fullest peer: what is left free is of most use where it is in one piece.
using Rank = std::tuple<std::uint64_t,      // memory of the largest device
                        ComputeCapability,  // the newest
                        bool,               // devices that the job does not want
                        std::int64_t,       // processors left
                        std::uint64_t,      // memory left
                        std::size_t,        // devices left
                        PeerId>;
Rank rank_of(const Room& room, const PeerView& view, const Allocation& allocation);

/// The peer with nothing held there: whether a job could ever start on it. What the driver counts
/// as used of devices that were held says nothing of that.
PeerView emptied(PeerView view);

}  // namespace gpl
