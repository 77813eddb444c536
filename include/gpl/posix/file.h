#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "gpl/core/result.h"
#include "gpl/posix/fd.h"

namespace gpl::posix {

/// Whether written bytes must survive a power loss before the call returns.
enum class Durability { none, synced };

/// Reads the whole file at `path`, relative to the folder `at`. A file of over `max_bytes` is
/// Code::too_large, so that a hostile one cannot take the memory.
Result<std::string> read_file_at(int at, const std::string& path, std::size_t max_bytes);

/// Replaces the file `name` in the folder `at` by `bytes`: a reader sees the old or the new file,
/// never a part. Mode 0600.
Status replace_file_at(int at, const std::string& name, std::string_view bytes,
                       Durability durability = Durability::none);

/// Writes all of `bytes`, going on after short writes and EINTR.
Status write_all(int fd, std::string_view bytes);

/// Makes `path` and the folders above it that are missing, each with `mode`.
Status make_folders(const std::string& path, mode_t mode);

/// Opens the folder `path` for *at() calls.
Result<Fd> open_folder(const std::string& path);

}  // namespace gpl::posix
