#pragma once

#include <cstdint>
#include <string>

namespace gpl::artifact {

enum class EntryType { file, directory, symlink };

/// One thing that is taken along, as it was when it was looked at.
struct Entry {
  std::string
      path;  ///< bytes, relative to the root, parts separated by '/'; never empty, "." or ".."
  EntryType type = EntryType::file;
  std::uint32_t mode = 0;        ///< the 0777 bits
  std::uint64_t size_bytes = 0;  ///< of a file; else 0
  std::uint64_t disk_bytes = 0;  ///< what of size_bytes is no hole: min(st_size, 512 * st_blocks)
  std::int64_t mtime_ns = 0;     ///< since 1970
  std::string link_target;       ///< of a symlink, bytes
  std::string source;  ///< absolute; where the content lies when that is not root/path, else empty
  friend bool operator==(const Entry&, const Entry&) = default;
};

}  // namespace gpl::artifact
