#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gpl/core/peer_offer.h"
#include "gpl/core/time.h"
#include "gpl/host/set_up_check.h"
#include "gpl/host/user.h"
#include "gpl/peer/lending.h"
#include "gpl/wire/client_message.h"

/// What `gpl doctor` is told by a running peer.
namespace gpl::peer {

struct HealthFacts {
  std::string state;                          ///< folder
  std::string log;                            ///< folder of the log
  std::string log_fault;                      ///< why it takes no more; "": it does
  std::string version;                        ///< of this gpl
  std::optional<std::string> keeper_version;  ///< nothing: not connected
  PeerOffer probed;                           ///< what there is, before the limits
  Lending lending;
  host::User user;
  Instant now;
};

wire::HealthRow row_of(const host::Finding& finding);

/// A row for everything looked at, good or bad. Asks the file system, and nothing that blocks for
/// long.
std::vector<wire::HealthRow> health(const HealthFacts& facts);

// The parts that are about the facts alone. Pure.
wire::HealthRow keeper_row(const HealthFacts& facts);
wire::HealthRow log_row(const HealthFacts& facts);
/// One for each probe that failed and each device that is unusable, else one that counts devices.
std::vector<wire::HealthRow> device_rows(const PeerOffer& probed);
wire::HealthRow memory_row(const PeerOffer& probed, const Lending& lending);

}  // namespace gpl::peer
