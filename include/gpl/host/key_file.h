#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gpl/core/result.h"

namespace gpl::host {

/// CONFIGURATION/cluster.key: the key of a cluster, one line of text, mode 0600. What the line
/// means is not known here.
std::string key_file_path(const std::string& configuration);

/// The line, without blanks around it; nothing when there is no such file. Code::denied, with the
/// chmod to say, for a file that others could read or write; Code::invalid for one that is no file,
/// or has more than a line.
Result<std::optional<std::string>> read_key_file(const std::string& configuration);

/// Puts `line` there, on disk and synced before it returns, and with it the folder, 0700, where it
/// is missing. Who reads meanwhile sees the old line or the new one.
///
/// Of two at once that create it one does, on a shared home folder too: Code::busy when there is
/// one already.
Status create_key_file(const std::string& configuration, std::string_view line);
Status replace_key_file(const std::string& configuration, std::string_view line);

}  // namespace gpl::host
