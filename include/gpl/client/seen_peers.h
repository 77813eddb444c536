#pragma once

#include <string>
#include <vector>

#include "gpl/net/address.h"

namespace gpl::client {

/// Where peers answered the last time that this user's commands had to look for one on the local
/// network: STATE/seen-peers, an address a line. A hint; what cannot be read or written is none.
std::vector<net::PeerAddress> read_seen_peers(const std::string& state);
void keep_seen_peers(const std::string& state, const std::vector<net::PeerAddress>& peers);

}  // namespace gpl::client
