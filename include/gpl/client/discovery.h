#pragma once

#include <vector>

#include "gpl/client/client_key.h"
#include "gpl/core/result.h"
#include "gpl/core/time.h"
#include "gpl/net/address.h"

namespace gpl::client {

/// Peers of the proof's cluster that announce themselves on the local network: first the address of
/// one that has shaken hands, then what else was seen by then. Looks until there is one, `at_most`
/// long; Code::not_found, with the reason, when there is none, Code::denied when those that say so
/// do not take the key.
Result<std::vector<net::PeerAddress>> discover_peers(const Proof& proof, Duration at_most);

}  // namespace gpl::client
