#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpl/core/attempt.h"
#include "gpl/core/id.h"
#include "gpl/core/job_description.h"
#include "gpl/core/result.h"
#include "gpl/core/time.h"
#include "gpl/posix/fd.h"
#include "gpl/wire/client_message.h"

namespace gpl::peer {

/// That an attempt's `work` was whole: its folder's file `staged`.
struct StagedMark {
  std::optional<ContentId> tree;  ///< nothing when a power loss has taken the file's content
  std::int64_t changed_ns = 0;    ///< when it was, by the file system's clock (st_ctime)
};

/// That all that an attempt made lies in `files`: its folder's file `collected`.
struct CollectedMark {
  JobId job;
  TaskId task;
  Instant at;
};

/// What the peer keeps in an attempt's folder, which is the keeper's (host::AttemptFolder):
///
///   work/      made by the keeper, filled by the peer, gone once the results are collected
///   staged     written when `work` is whole: what changed there later, the command has made
///   files/     what the command made and nobody has fetched
///   collected  written when all of it is there
///
/// May be used by any thread. Errors: not_found once the keeper has discarded the folder, io.
class StagedAttempt {
 public:
  /// Its folder's name, "EPOCH.NUMBER".
  static std::string name_of(const Fence& fence);
  static std::optional<Fence> fence_of(const std::string& name);

  static Result<StagedAttempt> open(const std::string& attempts_folder, const Fence& fence);

  int folder() const { return folder_.get(); }
  std::string work_path() const { return path_ + "/work"; }
  std::string files_path() const { return path_ + "/files"; }

  Status write_staged(JobId job, TaskId task, const ContentId& tree) const;
  /// Nothing while it is not written.
  Result<std::optional<StagedMark>> staged() const;
  Status write_collected(const CollectedMark& mark) const;
  /// Nothing while it is not written, or when a power loss has taken its content.
  Result<std::optional<CollectedMark>> collected() const;

  /// Of what is in `files`, by path; nothing when there is no such folder.
  Result<std::vector<wire::ResultFile>> files(TaskId task) const;
  Status make_files() const;
  bool has_work() const;
  Status empty_work() const;
  Status remove_work() const;

 private:
  StagedAttempt(std::string path, posix::Fd folder)
      : path_(std::move(path)), folder_(std::move(folder)) {}

  std::string path_;
  posix::Fd folder_;
};

}  // namespace gpl::peer
