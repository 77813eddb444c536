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
  std::string temp_folder;  ///< its TMPDIR
  std::optional<Instant> started_at;
  std::int32_t pid = 0;  ///< of the first process
};

/// One attempt on disk, STATE/attempts/EPOCH.NUMBER:
///
///   order           wire::encode of its to_worker::Start, before anything is started
///   work/           the private copy that the command runs in
///   temp            its AttemptTrace, as a Record
///   stdout, stderr  what it wrote: a byte's place in the file is its place in the stream
///   skipped         what of that was given up (skipped_output.h)
///   exit            wire::encode of its EndedAttempt; written last, synced
///   exit.reserve    the space for it, so that a full disk does not stop it from being written
///   acknowledged    empty: the leader has taken the outcome
///
/// The keeper writes these. It has the folder locked (flock), and the attempt's guard has too.
class AttemptFolder {
 public:
  const std::string& path() const { return path_; }
  std::string work_path() const { return path_ + "/work"; }
  int descriptor() const { return folder_.get(); }

  /// Locks the folder; false while a guard of an earlier keeper has it.
  bool try_lock() const;

  Status write_order(const to_worker::Start& order) const;
  Result<to_worker::Start> read_order() const;
  Status write_trace(const AttemptTrace& trace) const;
  /// What is not known is empty.
  AttemptTrace read_trace() const;
  /// Synced, and its name too. Code::io.
  Status write_exit(const EndedAttempt& ended) const;
  /// Nothing while the attempt has not ended.
  Result<std::optional<EndedAttempt>> read_exit() const;
  void write_acknowledged() const;
  bool acknowledged() const;
  /// Bytes of `stdout` or `stderr`; 0 for a file that is not there.
  std::uint64_t output_bytes(const std::string& name) const;

 private:
  friend class AttemptFolders;
  AttemptFolder(std::string path, posix::Fd folder)
      : path_(std::move(path)), folder_(std::move(folder)) {}
  Status reserve_exit() const;

  std::string path_;
  posix::Fd folder_;
};

/// All attempts of a state folder.
class AttemptFolders {
 public:
  /// Makes STATE/attempts with its parents, mode 0700, when missing.
  static Result<AttemptFolders> open(const std::string& state_folder);

  /// A new, locked folder with an empty `work`. What an attempt of that name has left is moved out
  /// of the way (see `leftovers`).
  Result<AttemptFolder> make(const Fence& attempt) const;
  Result<AttemptFolder> open_existing(const Fence& attempt) const;
  /// In order.
  Result<std::vector<Fence>> list() const;
  /// Moves it out of the way, to be removed: returns its name in `descriptor()` now, "" when there
  /// is no such attempt.
  Result<std::string> discard(const Fence& attempt) const;
  /// Names in `descriptor()` of what was discarded and is still there.
  std::vector<std::string> leftovers() const;

  int descriptor() const { return folder_.get(); }

 private:
  AttemptFolders(std::string path, posix::Fd folder)
      : path_(std::move(path)), folder_(std::move(folder)) {}

  std::string path_;
  posix::Fd folder_;
};

}  // namespace gpl::host
