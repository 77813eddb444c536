#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gpl/artifact/digest.h"
#include "gpl/core/result.h"

namespace gpl::artifact {

/// That somebody needs a tree, or a single chunk, and so it may not be collected.
struct Pin {
  Digest id;
  std::string owner;  ///< 1 to 100 of A-Z a-z 0-9 . _ -: "job-12"
  friend bool operator==(const Pin&, const Pin&) = default;
};

/// In the open folder `folder` a pin is an empty file "ID.OWNER": making one writes no data, so one
/// sync of the folder makes it durable. Pins that are there already, or not any more, are no error.
/// Code::invalid for an owner that cannot be a name.
Status add_pin(int folder, const Pin& pin);
Status remove_pin(int folder, const Pin& pin);
/// Ordered by id, then owner.
Result<std::vector<Pin>> list_pins(int folder);

}  // namespace gpl::artifact
