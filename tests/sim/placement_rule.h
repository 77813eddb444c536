#pragma once

// The simulated leader's simple placement rule: jobs in order of their ids, each to the first peer
// that fits. It places as the product will, by `judge`.

#include <map>
#include <vector>

#include "gpl/core/cluster_state.h"
#include "gpl/core/command.h"

namespace gpl::sim {

/// Free room of the peers that answer, as it shrinks while tasks are placed.
class PlacementRule {
 public:
  PlacementRule(const ClusterState& state, Instant now);

  /// What waits, as far as it fits.
  std::vector<command::Place> place_waiting();
  /// Where a job that is being submitted starts at once.
  std::vector<command::Placing> place_new(const JobDescription& job);

 private:
  /// Up to `slots_left` placings of a few tasks each.
  std::vector<command::Placing> place(const JobDescription& job, std::vector<TaskRange> waiting,
                                      std::uint64_t slots_left);
  std::optional<std::pair<PeerId, Allocation>> fitting(const Requirement& requirement);
  void hold(PeerView& peer, const Allocation& allocation);

  const ClusterState& state_;
  Instant now_;
  std::map<PeerId, PeerView> free_;
};

}  // namespace gpl::sim
