#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "gpl/core/result.h"
#include "gpl/store/disk.h"

namespace gpl::store {

/// Where operations are performed off the loop. Real: CommitThread. Fake: the simulator's, which
/// lets time pass, and crashes, between any two operations. In each lane one piece of work is
/// performed after the other; `done` is called on the loop, in order, never from within the call
/// itself. The first failed operation ends its piece of work and is told to `done`.
class Committer {
 public:
  enum class Lane {
    log,         ///< the write-ahead log: short, and somebody waits
    background,  ///< snapshots, segments made ahead, removals
  };
  using Done = std::function<void(Status)>;
  /// The next operation, or nothing at the end. Called off the loop: what it holds must be frozen.
  using Source = std::function<Result<std::optional<Operation>>()>;

  virtual ~Committer() = default;
  virtual void submit(Lane lane, std::vector<Operation> operations, Done done) = 0;
  virtual void submit(Lane lane, Source source, Done done) = 0;
};

}  // namespace gpl::store
