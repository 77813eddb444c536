#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gpl/core/attempt.h"
#include "gpl/core/id.h"
#include "gpl/core/result.h"
#include "gpl/core/time.h"
#include "gpl/peer/pool.h"
#include "gpl/peer/strand.h"
#include "gpl/wire/client_message.h"

namespace gpl::peer {

/// The files of one attempt that wait to be fetched.
struct KeptResults {
  TaskId task;
  Fence fence;
  std::vector<wire::ResultFile> files;  ///< ordered by path, at least one
  std::uint64_t bytes = 0;              ///< of all of them
  Instant kept_until;                   ///< at least
};

/// For listings.
struct ResultUsage {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::optional<Instant> kept_until;  ///< of those that go first
};

/// Which attempts' files are kept on this peer. On the loop's thread; the pool must outlive it.
class Results {
 public:
  using Read = std::function<void(Result<wire::FilePiece>)>;
  using Done = std::function<void(Status)>;
  using Emptied = std::function<void(const Fence&)>;

  /// `emptied`: nothing of this attempt is kept any more; its folder can go. Not told from within a
  /// call. `short_of_space`, asked on the pool, is for tests: else when less than a tenth of the
  /// file system is free.
  Results(Pool& pool, std::string attempts_folder, Emptied emptied,
          std::function<bool()> short_of_space = {});

  /// Finds what was collected before this process began. Blocks: at start. An attempt that cannot
  /// be read hides no other; the first error is returned.
  Status restore();

  /// What Staging::collect found. The same attempt again replaces what was known of it; without
  /// files nothing is kept, nor told as emptied. `at`: when it was collected, about.
  void add(JobId job, TaskId task, Fence fence, std::vector<wire::ResultFile> files, Instant at);

  /// Whether something of it is kept: it was collected, and need not be again.
  bool has(JobId job, const Fence& fence) const;
  /// By task, then age of the attempt, oldest first.
  std::vector<KeptResults> find(JobId job, std::optional<TaskId> task) const;
  ResultUsage usage(JobId job) const;

  /// Of the newest attempt at the task that has this path. `size_bytes` is cut to
  /// wire::piece_limit_bytes. Beyond the end: an empty last piece. Code::not_found, invalid, io.
  void read(JobId job, TaskId task, const std::string& path, std::uint64_t offset,
            std::uint32_t size_bytes, Read done);
  /// Removes these of all attempts at the task; what is not kept is no error. At once they are not
  /// listed any more. `done` may be empty.
  void forget(JobId job, TaskId task, const std::vector<std::string>& paths, Done done);
  /// Where space is short, removes what need not be kept by `now`, oldest first, until it is not.
  void sweep(Instant now);

 private:
  using Attempts = std::map<Fence, KeptResults>;
  Status restore_one(const Fence& fence);
  void drop(JobId job, const Fence& fence);

  Pool& pool_;
  std::string attempts_folder_;
  Emptied emptied_;
  std::function<bool()> short_of_space_;
  std::map<JobId, Attempts> jobs_;
  Ticket ticket_;  // of reading
  Strand removals_;
};

}  // namespace gpl::peer
