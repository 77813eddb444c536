#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpl::client {

/// `text` for a terminal: control characters and bytes that are no UTF-8 as `?`.
std::string printable(std::string_view text);

/// The words of a command as a person could type them into a shell.
std::string shell_words(const std::vector<std::string>& argv);

}  // namespace gpl::client
