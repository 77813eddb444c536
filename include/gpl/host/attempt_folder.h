#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpl/core/attempt.h"
#include "gpl/core/result.h"
#include "gpl/core/worker_message.h"
#include "gpl/host/record.h"
#include "gpl/host/skipped_output.h"
#include "gpl/posix/fd.h"

namespace gpl::host {

/// What an attempt's processes are known by, beside its order.
struct AttemptTrace {
  std::string temp_folder;  ///< its TMPDIR, which may not have been made
  std::optional<Instant> started_at;
  std::int32_t pid = 0;  ///< of the first process
};

/// One attempt on disk, STATE/attempts/EPOCH.NUMBER:
///
///   order           frames (keeper_journal.h, the first one's seed is 0): wire::encode of its
///                   to_worker::Start, and its AttemptTrace, as a Record, both before anything is
///                   started; the trace again once it has started: the last one counts
///   work/           the private copy that the command runs in
///   stdout, stderr  what it wrote: a byte's place in the file is its place in the stream
///   skipped         what of that was given up (skipped_output.h)
///
/// How it ended is in the KeeperJournal. The keeper writes these. It has the folder locked (flock),
/// and the attempt's guard has too.
class AttemptFolder {
 public:
  const std::string& path() const { return path_; }
  std::string work_path() const { return path_ + "/work"; }
  int descriptor() const { return folder_.get(); }

  /// Locks the folder; false while a guard of an earlier keeper has it.
  bool try_lock() const;

  Status write_order(const to_worker::Start& order, const AttemptTrace& trace);
  /// Requires `write_order`.
  Status write_trace(const AttemptTrace& trace);
  /// Code::not_found, or Code::invalid for one that was not written to its end.
  Result<to_worker::Start> read_order() const;
  /// What is not known is empty.
  AttemptTrace read_trace() const;
  /// The names in it outlast a power failure. Code::io.
  Status sync_names() const;
  /// Bytes of `stdout` or `stderr`; 0 for a file that is not there.
  std::uint64_t output_bytes(const std::string& name) const;

 private:
  friend class AttemptFolders;
  AttemptFolder(std::string path, posix::Fd folder)
      : path_(std::move(path)), folder_(std::move(folder)) {}

  std::string path_;
  posix::Fd folder_;
  posix::Fd order_;  ///< to add to
  std::uint64_t order_checksum_ = 0;
};

/// All attempts of a state folder. To make a file, and to remove one, can take ext4 half a
/// millisecond where many were removed in the last minutes: so folders that are of no use any more
/// are used again, and one is made ahead.
class AttemptFolders {
 public:
  /// Makes STATE/attempts with its parents, mode 0700, when missing.
  static Result<AttemptFolders> open(const std::string& state_folder);

  /// A new, locked folder with an empty `work`. What an attempt of that name has left is moved out
  /// of the way (see `leftovers`).
  Result<AttemptFolder> make(const Fence& attempt);
  Result<AttemptFolder> open_existing(const Fence& attempt) const;
  /// In order.
  Result<std::vector<Fence>> list() const;
  /// Moves it out of the way, to be removed: returns its name in `descriptor()` now, "" when there
  /// is no such attempt.
  Result<std::string> discard(const Fence& attempt) const;
  /// Names in `descriptor()` of what was discarded and is still there.
  std::vector<std::string> leftovers() const;
  /// Whether what was discarded is kept for a later attempt: it is as a new one would be.
  bool use_again(const std::string& discarded);
  /// Makes a folder for a later attempt, unless there is one.
  void make_ahead();
  /// The names of attempts outlast a power failure.
  Status sync_names() const;

  int descriptor() const { return folder_.get(); }

 private:
  AttemptFolders(std::string path, posix::Fd folder)
      : path_(std::move(path)), folder_(std::move(folder)) {}

  Result<AttemptFolder> make_new(const std::string& name) const;
  std::string next_discarded(const std::string& name) const;

  std::string path_;
  posix::Fd folder_;
  std::vector<AttemptFolder> spares_;  ///< under names of what is discarded
};

}  // namespace gpl::host
