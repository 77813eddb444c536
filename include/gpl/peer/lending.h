#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gpl/core/peer_offer.h"
#include "gpl/core/result.h"
#include "gpl/core/time.h"
#include "gpl/host/configuration.h"

namespace gpl::peer {

using host::Lending;

/// What `closed` says of a peer that is draining.
inline constexpr std::string_view draining_word = "draining";

/// What the command line says of it, as typed; it goes before the configuration.
struct LendingOptions {
  std::optional<std::string> offer;   ///< --offer DEVICES
  std::optional<std::string> cpus;    ///< --cpus N
  std::optional<std::string> memory;  ///< --memory SIZE
};

/// The configuration's limits with those of the command line in their place. Code::invalid names
/// the option.
Result<Lending> with_options(Lending lending, const LendingOptions& options);

/// Whether the limits make sense on the machine that was probed, to be asked at the start: a device
/// that is not there (with those that are), and more processors or memory than there are, are
/// Code::invalid.
Status check_limits(const PeerOffer& probed, const Lending& lending);

/// Nothing of the machine, whatever is there: what a coordinator lends.
Lending lend_nothing();

/// What is lent of what was probed, at this minute of the local day (0 to 1439): no more than is
/// there, and `closed` outside the hours and while the peer is draining. What is no longer there is
/// passed over: devices come and go.
PeerOffer apply_limits(PeerOffer probed, const Lending& lending, int minute_of_day, bool draining);

/// By the machine's time zone.
int local_minute_of_day(Instant now);

}  // namespace gpl::peer
