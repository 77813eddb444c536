#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpl/artifact/entry.h"

namespace gpl::artifact {

struct FolderSize {
  std::string path;
  std::uint64_t bytes = 0;  ///< Entry::disk_bytes of everything below it
  std::uint64_t files = 0;  ///< files and links below it
};

/// The at most `count` folders that hold most, by bytes or by files, largest first. Of a folder and
/// one inside of it that makes nearly all of it, only the inner one is named; none lies inside
/// another that is named.
std::vector<FolderSize> largest_folders(const std::vector<Entry>& entries, std::size_t count,
                                        bool by_files);

}  // namespace gpl::artifact
