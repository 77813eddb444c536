#pragma once

#include <string>
#include <vector>

#include "gpl/core/explain.h"

namespace gpl {

/// Without control characters, which could drive a terminal.
std::string for_terminal(std::string text);

/// "job 12 ends and 4 cpus are free": all that has to happen by itself.
std::string awaited(const std::vector<Reason>& reasons);

/// Of the peers on which it will fit, the one where it may be soonest; null when there is none.
const PeerAnswer* soonest(const std::vector<PeerAnswer>& peers);

/// "waiting: lab2 will fit when job 12 ends", without how long that may take. Requires a peer on
/// which it will fit.
std::string waiting_words(const PeerAnswer& peer);

}  // namespace gpl
