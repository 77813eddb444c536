#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gpl/client/shown_words.h"

namespace gpl::cmd {

/// Writes `text` to standard output. Returns an exit code: 0; 141 when the reader is gone, as for a
/// program that SIGPIPE ended; `failed` when it cannot be written, with a word on standard error.
int print(std::string_view text, int failed = 1);

/// Says on standard error what went wrong, "gpl: " in front; control characters are shown as `?`.
/// `words` may be several lines.
void complain(std::string_view words);

/// A table for people: a header row and rows, columns two blanks apart, nothing cut.
std::string format_table(const std::vector<std::vector<std::string>>& rows);

using client::printable;
using client::shell_words;

}  // namespace gpl::cmd
