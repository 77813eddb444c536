#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpl::cmd {

/// Writes `text` to standard output. Returns an exit code: 0; 141 when the reader is gone, as for a
/// program that SIGPIPE ended; `failed` when it cannot be written, with a word on standard error.
int print(std::string_view text, int failed = 1);

/// Says on standard error what went wrong, "gpl: " in front; control characters are shown as `?`.
/// `words` may be several lines.
void complain(std::string_view words);

/// A table for people: a header row and rows, columns two blanks apart, nothing cut.
std::string format_table(const std::vector<std::vector<std::string>>& rows);

/// `text` for a terminal: control characters and bytes that are no UTF-8 as `?`.
std::string printable(std::string_view text);

/// The words of a command as a person could type them into a shell.
std::string shell_words(const std::vector<std::string>& argv);

}  // namespace gpl::cmd
