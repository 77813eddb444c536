#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "gpl/core/result.h"
#include "gpl/posix/fd.h"

namespace gpl::artifact {

/// The open folders of a store. May be used by several threads.
struct StoreFolders {
  /// Makes what is missing, mode 0700. Code::unsupported for a later version's store.
  static Result<std::unique_ptr<StoreFolders>> open(const std::string& path);

  /// Makes every name that is in `objects` by now safe from a power loss. Returns how many syncs
  /// it took: none when the folder has not changed since the last one.
  Result<unsigned> sync_names();

  std::string path;
  posix::Fd root;     ///< `lock`, `format`
  posix::Fd objects;  ///< chunks and trees, whole and on disk, under the names of store_object.h
  posix::Fd pins;
  posix::Fd intakes;  ///< a folder for each intake
  posix::Fd damaged;  ///< objects that turned out not to be what their names say

 private:
  /// The ctime of `objects` of which it is known that its names are on disk.
  std::atomic<std::int64_t> safe_ctime_ns_ = 0;
};

/// The Error of a failed call on the store, with what to do when its disk is full.
Error store_error(const StoreFolders& folders, std::string_view what, int errno_value);

/// Held while names come to objects, pins and intakes (shared) or go from there (exclusive); never
/// for long. Not for use by one thread twice at once.
class StoreLock {
 public:
  static Result<StoreLock> shared(const StoreFolders& folders);
  static Result<StoreLock> exclusive(const StoreFolders& folders);

 private:
  explicit StoreLock(posix::Fd fd) : fd_(std::move(fd)) {}
  static Result<StoreLock> take(const StoreFolders& folders, int operation);

  posix::Fd fd_;  // a description of its own: a lock belongs to that
};

}  // namespace gpl::artifact
