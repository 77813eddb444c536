#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "gpl/posix/fd.h"
#include "gpl/store/disk.h"

namespace gpl::store {

/// The files of a real folder. Calls may come from several threads, for different files.
class FolderDisk final : public Disk {
 public:
  /// Makes the folder if it is missing (mode 0700), and locks it until the end of this object.
  /// Code::busy: another process has it; Code::io and the like.
  static Result<std::unique_ptr<FolderDisk>> open(const std::string& path);
  /// Without the lock, and without a right to `perform`: for a look at a copy, or at a log in use.
  static Result<std::unique_ptr<FolderDisk>> open_to_read(const std::string& path);

  /// All names but the lock's.
  Result<std::vector<std::string>> list() override;
  Result<std::uint64_t> size(std::string_view name) override;
  Result<std::string> read(std::string_view name, std::uint64_t offset,
                           std::size_t limit_bytes) override;
  Status perform(const Operation& operation) override;

 private:
  /// A file that was written stays open until after its sync: an error of writing back that comes
  /// in between is told to those who have it open.
  struct OpenFile {
    posix::Fd fd;
    bool unsynced = false;
  };

  FolderDisk(std::string path, posix::Fd folder)
      : path_(std::move(path)), folder_(std::move(folder)) {}

  Status create(const Create& what);
  Status write(const Write& what);
  Status sync(const Sync& what);
  Status rename(const Rename& what);
  Status remove(const Remove& what);
  Status sync_folder();
  /// Open for writing, and held so. `flags`: of open(2), besides.
  Result<int> hold(const std::string& name, int flags);
  /// Lets go of what is synced, but for this one, which is likely to be written next.
  void release_synced(const std::string& name);
  Error failure(std::string_view what, std::string_view name) const;

  std::string path_;
  posix::Fd folder_;
  posix::Fd lock_;  // none: only for reading
  std::mutex mutex_;
  std::map<std::string, OpenFile, std::less<>> files_;
};

}  // namespace gpl::store
