#pragma once

#include <cstddef>
#include <optional>

namespace gpl::cmd {

/// The columns of the terminal that standard output is; 80 where it does not say; nothing: it is
/// none.
std::optional<std::size_t> terminal_width();

/// Whether standard output takes colours: a terminal, and NO_COLOR (no-color.org) is not set.
bool takes_colour();

}  // namespace gpl::cmd
