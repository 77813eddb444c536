#pragma once

#include <span>

#include "option_table.h"

namespace gpl::cmd {

/// The options of `gpl run`, those of later versions included.
std::span<const OptionRow> run_options();

}  // namespace gpl::cmd
