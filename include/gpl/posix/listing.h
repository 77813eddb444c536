#pragma once

#include <string>
#include <vector>

#include "gpl/core/result.h"

namespace gpl::posix {

/// The names in the open folder `folder` but "." and "..", sorted. The descriptor stays open, and
/// its reading place is moved.
Result<std::vector<std::string>> names_in(int folder);

}  // namespace gpl::posix
