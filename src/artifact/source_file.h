#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpl/artifact/entry.h"
#include "gpl/artifact/selection.h"
#include "gpl/core/result.h"
#include "gpl/posix/fd.h"

namespace gpl::artifact {

/// A file that is taken along, open for reading, and how it was when it was opened.
struct SourceFile {
  posix::Fd file;
  struct stat before;
};

/// Opens the file of `entry`, relative to the folder `root`. Nothing when it has gone since it was
/// listed; or when it cannot be read or is no file any more, which is noted. An Error, of errno's
/// words alone, when the fault is not this file's: too many open files.
Result<std::optional<SourceFile>> open_source(int root, const Entry& entry,
                                              std::vector<Note>& notes);

/// Notices files that are written to while they are taken.
class ChangeWatch {
 public:
  /// Begin it before the first file is opened.
  ChangeWatch();
  /// To be asked when the file has been read; notes it if it has changed since it was listed.
  void note_if_changed(const Entry& entry, const SourceFile& source,
                       std::vector<Note>& notes) const;

 private:
  std::int64_t recent_since_ns_;
};

}  // namespace gpl::artifact
