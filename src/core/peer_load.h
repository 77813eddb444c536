#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "gpl/core/allocation.h"
#include "gpl/core/id.h"
#include "gpl/core/peer_offer.h"
#include "gpl/core/result.h"
#include "gpl/core/time.h"

namespace gpl {

/// A claim and who has it.
struct HeldClaim {
  DeviceClaim claim;
  AttemptId slot;
  JobId job;
  Instant since = {};
};

/// Processors and memory of a slot.
struct HeldShare {
  JobId job;
  std::int64_t cpus = 0;
  std::uint64_t memory_bytes = 0;
  Instant since;
};

/// What is held of one peer, each slot's allocation once.
struct PeerLoad {
  std::int64_t cpus = 0;
  std::uint64_t memory_bytes = 0;
  std::vector<HeldClaim> claims;
  std::map<AttemptId, HeldShare> shares;  ///< the oldest first; without those that have nothing

  void add(AttemptId slot, JobId job, Instant since, const Allocation& allocation);
  /// Requires what was added.
  void remove(AttemptId slot, const Allocation& allocation);
};

/// Whether the allocation is free on a peer with this offer and load: Code::busy when held, else
/// Code::invalid. Unknown is not free: no memory can be had of a peer that does not know how much
/// it has (host.memory_bytes 0), and no share of a device whose memory is unknown, as in `judge`.
/// What processes outside gpl use is not looked at: it changes without a command.
Status check_free(const PeerOffer& offer, const PeerLoad& load, const Allocation& allocation);

/// Whether both can be held at once, whatever the device has: a card is in the way of its slices,
/// and all of a device in that of a share of it.
bool can_coexist(const DeviceClaim& a, const DeviceClaim& b);

}  // namespace gpl
