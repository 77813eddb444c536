#pragma once

#include <string>

#include "gpl/core/result.h"

namespace gpl::posix {

/// Removes `name` in the folder `at`, with everything below it; what is not there is no error.
/// Folders without permissions are opened up first. Never follows a link. Trees of any depth: the
/// descriptors and the stack it takes are bounded.
Status remove_tree_at(int at, const std::string& name);

}  // namespace gpl::posix
