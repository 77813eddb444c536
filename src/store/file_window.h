#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gpl/core/result.h"
#include "gpl/store/disk.h"

namespace gpl::store {

/// Reads a file from front to back through a window, so that a file of any size takes little
/// memory.
class FileWindow {
 public:
  /// `disk` must outlive the window.
  FileWindow(Disk& disk, std::string name) : disk_(&disk), name_(std::move(name)) {}

  /// The bytes from `offset`: `length` of them, fewer only at the end of the file. Valid until the
  /// next call.
  Result<std::string_view> at(std::uint64_t offset, std::size_t length);

  /// The next call reads from the disk: the file may be written at the same time.
  void forget() { bytes_.clear(); }

 private:
  Disk* disk_;
  std::string name_;
  std::uint64_t begin_ = 0;
  std::string bytes_;
};

}  // namespace gpl::store
