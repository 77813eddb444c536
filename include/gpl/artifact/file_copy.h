#pragma once

#include <cstdint>
#include <functional>

#include "gpl/core/result.h"

namespace gpl::artifact {

/// Copies file content from one descriptor to another: by reflink where the file system shares
/// extents, else by copying. Remembers what the file systems cannot do, so use one for many files
/// of the same two places.
class FileCopy {
 public:
  /// `interrupted` is asked every few MiB; once it says yes, copying fails with Code::busy.
  explicit FileCopy(std::function<bool()> interrupted) : interrupted_(std::move(interrupted)) {}

  /// Copies the first `size_bytes` of `from`, a regular file, to the empty file `to`, holes as
  /// holes. A source that is shorter by now gives a shorter copy, never invented bytes.
  Status copy(int from, int to, std::int64_t size_bytes);

 private:
  Status copy_range(int from, int to, std::int64_t begin, std::int64_t end);
  Status read_write(int from, int to, std::int64_t begin, std::int64_t end);
  Status copy_sparse(int from, int to, std::int64_t size_bytes);

  std::function<bool()> interrupted_;
  bool reflinks_ = true;
  bool copies_in_kernel_ = true;
};

}  // namespace gpl::artifact
