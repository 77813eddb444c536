#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gpl::host {

/// A path file is never larger, nor are more of its lines followed: what is, is something else.
inline constexpr std::size_t max_path_file_bytes = std::size_t{256} << 10;
inline constexpr std::size_t max_path_file_lines = 256;

/// The folders that a NAME.pth file adds to sys.path, as written (Python's site module): a line
/// each, without comments and without the `import` lines, which are code and are never run. Lines
/// with a NUL are left out.
std::vector<std::string> pth_folders(std::string_view text);

/// The source folder that a NAME.egg-link file names: its first line. "" when there is none.
std::string egg_link_folder(std::string_view text);

}  // namespace gpl::host
