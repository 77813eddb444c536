#pragma once

#include <span>

#include "option_table.h"

namespace gpl::cmd {

/// The options of `gpl run`, those of later versions included.
std::span<const OptionRow> run_options();

/// The same for `gpl submit`: without those that need somebody who waits.
std::span<const OptionRow> submit_options();

}  // namespace gpl::cmd
