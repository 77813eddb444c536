#pragma once

#include <optional>
#include <string>

#include "gpl/core/id.h"
#include "gpl/core/peer_offer.h"
#include "gpl/core/time.h"

namespace gpl {

/// A peer that has reported for work and was not given up since.
struct PeerRecord {
  PeerId id;
  std::string keeper;  ///< instance; attempts placed before it was another one are not its own
  PeerOffer offer;
  Instant up_at;                   ///< since when it is up under this keeper
  Instant reported_at;             ///< its last report
  std::optional<Instant> down_at;  ///< nothing: it answers, as far as is known
  friend bool operator==(const PeerRecord&, const PeerRecord&) = default;
};

}  // namespace gpl
