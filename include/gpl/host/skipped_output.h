#pragma once

#include <array>
#include <cstdint>

#include "gpl/core/result.h"
#include "gpl/posix/fd.h"

namespace gpl::host {

/// A stretch of a stream: bytes `from` up to before `to`; empty when they are the same.
struct Stretch {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  std::uint64_t size() const { return to - from; }
  bool empty() const { return to == from; }
  friend bool operator==(const Stretch&, const Stretch&) = default;
};

/// What of an attempt's stdout and stderr was given up: reads as zeros in the files, or is past
/// their ends. Each stream has at most one such stretch, which only grows.
///
/// The file says so before the bytes go. So who reads output reads the file `skipped` after it, and
/// throws away what is in a stretch.
struct SkippedOutput {
  std::array<Stretch, 2> of;  ///< stdout, stderr
  friend bool operator==(const SkippedOutput&, const SkippedOutput&) = default;
};

/// The file `skipped` in the attempt's open folder. A missing one: nothing was skipped.
Result<SkippedOutput> read_skipped(int attempt_folder);

/// Makes the file, with nothing skipped, and returns it open.
Result<posix::Fd> make_skipped(int attempt_folder);
/// Written over what is there, since a full disk has no room for another file.
Status write_skipped(int file, const SkippedOutput& skipped);

}  // namespace gpl::host
