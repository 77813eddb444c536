#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpl/artifact/chunk_store.h"
#include "gpl/core/attempt.h"
#include "gpl/core/job.h"
#include "gpl/core/job_description.h"
#include "gpl/core/job_state.h"
#include "gpl/core/result.h"
#include "gpl/peer/pool.h"
#include "gpl/peer/strand.h"
#include "gpl/wire/client_message.h"

namespace gpl::peer {

/// Fills the work folders of attempts, and gathers what their commands made. What is asked about
/// one attempt is done in the order asked. Everything may be asked again, also after a crash at any
/// point: what was done is not done twice.
///
/// On the loop's thread; `pool` and `store` must outlive it, and the store the pool. Its end
/// interrupts what is being staged, and tells nothing more.
class Staging {
 public:
  /// Nothing: the work folder is whole.
  using Prepared = std::function<void(std::optional<FailedToStart> failure)>;
  /// The files that wait to be fetched, ordered by path.
  using Found = std::function<void(Result<std::vector<wire::ResultFile>> files)>;
  using Cleared = std::function<void()>;

  /// `attempts_folder`: STATE/attempts.
  Staging(Pool& pool, const artifact::ChunkStore& store, std::string attempts_folder);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// Makes the tree ("": an empty one) in the attempt's `work`. The tree must be pinned until then.
  /// While it is being made, asking again only replaces `done`.
  void prepare(JobId job, TaskId task, Fence fence, ContentId tree, Prepared done);
  /// The attempt ends before it begins: what is being staged is given up soon and not told.
  void cancel(const Fence& fence);

  /// Whether nothing is in the attempt's `work`, and nothing was found in it before: there is
  /// nothing to collect. A few system calls: not for the pool.
  bool made_nothing(const Fence& fence) const;

  /// After the attempt's end, however it ended: moves what is new or changed in `work` to `files`.
  /// `found` is told once that is so. Then `cleared` (may be empty), once `work` is gone or cannot
  /// be removed: the keeper may discard the folder, and is not held up by a large tree. After an
  /// error `cleared` is not told: what is missing in `files` is still in `work`; ask again. With
  /// StagingMode::none nothing is found. `without_tree`: nothing was to be staged, and perhaps
  /// nobody has asked to prepare it.
  void collect(JobId job, TaskId task, Fence fence, StagingMode mode, Found found,
               Cleared cleared = {}, bool without_tree = false);

 private:
  struct Attempt {
    explicit Attempt(Pool& pool) : strand(pool) {}
    Strand strand;
    std::shared_ptr<std::atomic<bool>> interrupted;  // of what is being staged; else none
    Prepared prepared;
  };
  Attempt& attempt(const Fence& fence);
  void finish_prepare(const Fence& fence, const std::shared_ptr<std::atomic<bool>>& asked,
                      std::optional<FailedToStart> failure);
  // Drops the attempt when nothing more is asked about it.
  void settle(const Fence& fence);

  Pool& pool_;
  const artifact::ChunkStore& store_;
  std::string attempts_folder_;
  std::map<Fence, std::unique_ptr<Attempt>> attempts_;
};

}  // namespace gpl::peer
