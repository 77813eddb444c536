#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpl/core/result.h"
#include "gpl/store/folder_disk.h"

namespace gpl::cmd {

/// A log's folder, to be read.
struct LogFolder {
  std::unique_ptr<store::FolderDisk> disk;
  std::vector<std::string> names;
};

/// Code::not_found: there is no log in it.
Result<LogFolder> open_log(const std::string& path);

/// What went wrong with this log; where a running peer may be the cause, that is said.
std::string advised(const Error& error, const LogFolder& folder);

/// "damaged", "newer" (of a newer gpl) or "unreadable".
std::string outcome_of(const Error& error);

/// `text` with control characters, and those that turn the direction of writing, as \uXXXX: they
/// come from names of folders.
std::string escaped(std::string_view text);

/// Says it on standard error. Returns 1.
int fail_wal(const std::string& message);

}  // namespace gpl::cmd
