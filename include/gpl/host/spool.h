#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpl/core/id.h"
#include "gpl/core/result.h"
#include "gpl/host/record.h"
#include "gpl/posix/fd.h"
#include "gpl/posix/file.h"

namespace gpl::host {

enum class Stream { out, err };

/// One attempt's folder on disk:
///
///   spec         what runs, where from, with which temporary folder; written when `work` is whole
///   stdout, stderr  output that could not be delivered; made when first needed
///   exit         how it ended; written last
///   work/        the private copy that the command runs in
///   files/       what the command made and nobody has fetched
///
/// The folder is locked (flock) while somebody works with it. The lock belongs to the open
/// description, so a forked guard could keep it; it ends with the last holder.
class Spool {
 public:
  const std::string& path() const { return path_; }
  int folder() const { return folder_.get(); }
  JobId job() const { return job_; }
  std::string work_path() const { return path_ + "/work"; }
  std::string files_path() const { return path_ + "/files"; }

  Status write_spec(const Record& spec);
  Result<Record> read_spec() const;
  /// Appends to what was kept of this stream before.
  Result<posix::Fd> open_output(Stream stream) const;
  /// `synced`: before an exit code is told to anyone who must not lose it.
  Status write_exit(const Record& exit, posix::Durability durability);
  /// Nothing while the attempt has not ended.
  Result<std::optional<Record>> read_exit() const;
  /// When `spec` was written by this file system's clock, in ns since the epoch: the command
  /// started after it.
  Result<std::int64_t> spec_changed_ns() const;

  /// Removes the folder and everything in it.
  Status remove();

 private:
  friend class SpoolFolder;
  Spool(int above, std::string path, posix::Fd folder, JobId job)
      : above_(above), path_(std::move(path)), folder_(std::move(folder)), job_(job) {}

  int above_;  // the SpoolFolder's, which outlives this
  std::string path_;
  posix::Fd folder_;
  JobId job_;
};

/// All spools of one user on one machine, numbered from 1 on in the order of their making.
class SpoolFolder {
 public:
  /// Makes STATE/jobs with its parents, mode 0700, when missing.
  static Result<SpoolFolder> open(const std::string& state_folder);

  /// A new, locked spool under the next number, with an empty `work`.
  Result<Spool> create();
  /// Locks an existing spool: Code::busy while another process works with it, Code::not_found.
  Result<Spool> open_existing(JobId job) const;
  /// The numbers there are, ascending.
  Result<std::vector<JobId>> list() const;

  const std::string& path() const { return path_; }
  int folder() const { return folder_.get(); }

 private:
  SpoolFolder(std::string path, posix::Fd folder)
      : path_(std::move(path)), folder_(std::move(folder)) {}
  Result<JobId> next_number();

  std::string path_;
  posix::Fd folder_;
};

}  // namespace gpl::host
