#pragma once

#include <string>

#include "gpl/core/result.h"

namespace gpl::host {

/// Where the socket `name` of a state folder is: in the folder itself, or, since a socket's path
/// has at most 107 bytes (unix(7)), in /tmp/gpl-UID under a name made from the folder's. That
/// folder is made with mode 0700; Code::denied when what is there is another user's or open to
/// others, since they could put a socket of their own in it. `state_folder` is absolute.
Result<std::string> socket_path(const std::string& state_folder, const std::string& name);

}  // namespace gpl::host
