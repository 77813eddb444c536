#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gpl/core/result.h"

namespace gpl::store {

/// What can be done to the files of one folder. Names have no slash.

/// Makes a file of this many zero bytes, all of them written, and syncs it and the folder. Replaces
/// a file of that name.
struct Create {
  std::string name;
  std::uint64_t size_bytes = 0;
  friend bool operator==(const Create&, const Create&) = default;
};
/// Writes into a file, which is made when there is none, and may grow. Not safe before a Sync.
struct Write {
  std::string name;
  std::uint64_t offset = 0;
  std::string bytes;
  friend bool operator==(const Write&, const Write&) = default;
};
/// What was written to the file is on disk afterwards (fdatasync).
struct Sync {
  std::string name;
  friend bool operator==(const Sync&, const Sync&) = default;
};
/// Atomic, and safe afterwards (the folder is synced). Replaces a file of the new name.
struct Rename {
  std::string from;
  std::string to;
  friend bool operator==(const Rename&, const Rename&) = default;
};
/// Safe afterwards. No error when there is no such file.
struct Remove {
  std::string name;
  friend bool operator==(const Remove&, const Remove&) = default;
};
using Operation = std::variant<Create, Write, Sync, Rename, Remove>;

/// One folder's files. Real: FolderDisk. Fake: the simulator's, which loses and tears what was not
/// synced. Calls block; but at start-up they are made off the loop, by a Committer, from both of
/// its lanes at once.
class Disk {
 public:
  virtual ~Disk() = default;
  /// The files' names, sorted.
  virtual Result<std::vector<std::string>> list() = 0;
  virtual Result<std::uint64_t> size(std::string_view name) = 0;
  /// At most `limit_bytes` from `offset`; fewer only at the end of the file.
  virtual Result<std::string> read(std::string_view name, std::uint64_t offset,
                                   std::size_t limit_bytes) = 0;
  /// Code::io with the file and errno's words. After a failed Sync nothing of the file is known to
  /// be on disk: it is never tried again (the kernel may have dropped the pages).
  virtual Status perform(const Operation& operation) = 0;
};

}  // namespace gpl::store
