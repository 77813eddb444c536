#pragma once

#include <cstddef>

#include "gpl/core/peer_offer.h"
#include "gpl/host/configuration.h"
#include "gpl/peer/lending.h"

namespace gpl::peer {

/// The most that an offer takes within a log entry, encoded.
inline constexpr std::size_t offer_limit_bytes = std::size_t{48} * 1024;

/// All of this machine, labelled as `lending` says, not yet limited by it (check_limits,
/// apply_limits). Blocks for up to some deadlines of vendors' tools: to be called on a thread of
/// the pool. It fits `offer_limit_bytes`, also limited.
PeerOffer probe_offer(const host::Configuration& configuration, const Lending& lending);

/// The offer cut to the limit, and a problem in it that says so: environments without frameworks go
/// first, then the last ones, then what problems say, then the last devices.
PeerOffer fitted(PeerOffer offer);
/// Of the offer within an encoded command::PeerUp.
std::size_t encoded_bytes(const PeerOffer& offer);

/// Whether they say the same, but for how much of a device's memory everyone uses: that changes all
/// the time. Only what is not the same is told to the cluster.
bool same_for_placing(const PeerOffer& a, const PeerOffer& b);

}  // namespace gpl::peer
