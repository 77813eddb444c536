#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "gpl/artifact/chunk_store.h"
#include "gpl/core/id.h"
#include "gpl/core/job_description.h"
#include "gpl/core/result.h"
#include "gpl/peer/pool.h"
#include "gpl/peer/strand.h"

namespace gpl::peer {

/// The pins of this peer in its store: of jobs ("job-12") and of clients that have brought a tree
/// in ("client-3"). They are set and removed in the order asked, on the pool. No pin need survive a
/// power loss: `restore` sets them anew. The pool and the store must outlive it.
class TreePins {
 public:
  using Done = std::function<void(Status)>;

  TreePins(Pool& pool, const artifact::ChunkStore& store) : store_(store), strand_(pool) {}

  /// The pins that there should be at start: of these jobs those whose trees are whole here, which
  /// `done` is told. Removes those of other jobs and, at the process's start, of all clients.
  using Restored = std::function<void(Result<std::vector<JobId>>)>;
  void restore(std::vector<std::pair<JobId, ContentId>> jobs, bool keep_clients, Restored done);
  /// `done` may be empty. A tree of "" needs no pin.
  void pin(JobId job, const ContentId& tree, Done done = {});
  void unpin(JobId job, const ContentId& tree, Done done = {});

  /// On the loop, once all that was asked before has been done.
  void then(std::function<void()> told);
  /// Does `work`, on the pool, once all that was asked before has been done.
  void after_pins(std::function<void()> work);

 private:
  void run(std::function<Status()> work, Done done);

  const artifact::ChunkStore& store_;
  Strand strand_;
};

}  // namespace gpl::peer
