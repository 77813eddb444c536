#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpl/artifact/entry.h"
#include "gpl/core/result.h"

namespace gpl::artifact {

/// When a command began, by the clock of the file system that it works on.
struct StartMark {
  std::int64_t changed_ns = 0;  ///< st_ctime of a file written there just before
  /// What lay there by then, ordered by path: decides for files changed within the same tick. With
  /// none (its process died), those are as staged whose modification time is older than the mark.
  const std::vector<Entry>* staged = nullptr;
};

/// The files and links below `root` that are new or changed since `mark`, ordered by path. A change
/// is seen by st_ctime, which nobody can set back: also one that keeps size and mtime. Sockets,
/// FIFOs and Python's bytecode caches (__pycache__) are no results. Folders that cannot be entered
/// are opened up: the command's own rights are the caller's.
Result<std::vector<Entry>> made_files(const std::string& root, const StartMark& mark);

}  // namespace gpl::artifact
