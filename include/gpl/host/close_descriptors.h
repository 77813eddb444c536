#pragma once

#include <vector>

namespace gpl::host {

/// Closes every descriptor from 3 on that is not in `kept`: for a process that was just forked.
void close_descriptors_but(std::vector<int> kept);

}  // namespace gpl::host
