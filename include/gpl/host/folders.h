#pragma once

#include <string>

#include "gpl/core/result.h"

namespace gpl::host {

/// Where gpl keeps what is a user's own.
struct Folders {
  std::string configuration;  ///< ~/.config/gpl: gpl.toml, cluster.key
  std::string state;          ///< ~/.local/state/gpl/MACHINE: homes are shared between machines
};

/// From XDG_CONFIG_HOME, XDG_STATE_HOME (only when absolute: XDG base directory specification) and
/// HOME. Makes nothing. Code::not_found when no home folder is known.
Result<Folders> user_folders();

}  // namespace gpl::host
