#pragma once

#include <sys/stat.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gpl/artifact/digest.h"
#include "gpl/core/result.h"
#include "gpl/core/time.h"

namespace gpl::artifact {

/// What changes when a file does. Programs can set mtime back, but not ctime.
struct FileState {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size_bytes = 0;
  std::int64_t mtime_ns = 0;
  std::int64_t ctime_ns = 0;

  static FileState of(const struct stat& status);
  friend auto operator<=>(const FileState&, const FileState&) = default;
};

/// Remembers of which chunks the files below one folder are made, so that what has not changed
/// need not be read again. A cache that is damaged or gone costs time only.
class StatCache {
 public:
  /// The cache that `folder` has of the tree at `root`, a real absolute path; empty when there is
  /// none that can be read.
  static StatCache load(const std::string& folder, const std::string& root);

  /// The chunks of a file in this state, or null. Valid until the next `record`.
  const std::vector<Digest>* find(const FileState& state);
  /// Takes note of what the file had when it was read, no earlier than at `read_at` (time of day).
  /// Forgotten at once when the file had changed so shortly before that a later change could leave
  /// no trace in its times: git's rule for racy entries.
  void record(const FileState& state, std::vector<Digest> chunks, Instant read_at);

  /// Writes what was found or recorded since `load`, if anything differs from what was loaded; the
  /// rest is of files that are gone. With a new cache it removes those that were not written for 30
  /// days. An error is worth a line in a log: the next snapshot will take longer.
  Status save(Instant now) const;

 private:
  struct Row {
    FileState state;
    std::vector<Digest> chunks;
    bool used = false;
  };

  static bool read(std::string_view bytes, std::vector<Row>& rows);
  std::string encoded() const;

  std::string folder_;
  std::string name_;
  std::vector<Row> loaded_;  // ordered by state
  std::vector<Row> recorded_;
};

}  // namespace gpl::artifact
