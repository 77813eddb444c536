#pragma once

#include <vector>

#include "gpl/artifact/entry.h"

namespace gpl::artifact {

/// Where a link that is taken along will lead, in the copy.
enum class LinkFate {
  taken,    ///< to something that is taken too
  outside,  ///< out of the copy: its target is absolute, or climbs above the root
  missing,  ///< to nothing that is taken, or in a circle
};

/// `entries` are ordered by path. Links on the way are followed as they will lie in the copy;
/// nothing is read.
LinkFate link_fate(const std::vector<Entry>& entries, const Entry& link);

}  // namespace gpl::artifact
