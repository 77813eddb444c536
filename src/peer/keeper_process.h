#pragma once

#include <string>

#include "gpl/core/result.h"

namespace gpl::peer {

/// This process may open as many files as the system allows: a link, a session and a copied output
/// take one or more. The keeper and its jobs get back what this process began with.
void raise_open_files();

/// Starts `program keeper STATE_FOLDER` in a session of its own, as nobody's child: it outlives
/// this process. Its stderr goes to STATE_FOLDER/keeper.log. Safe with other threads. Code::io.
Status start_keeper(const std::string& program, const std::string& state_folder);

}  // namespace gpl::peer
