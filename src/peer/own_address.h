#pragma once

#include <string>

namespace gpl::peer {

/// The address of this machine that the default route goes out from, else of an interface that is
/// up, bridges last (docker0 is one): "" when it has none but loopback. Sends nothing.
std::string own_address();

}  // namespace gpl::peer
