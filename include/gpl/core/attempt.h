#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "gpl/core/allocation.h"
#include "gpl/core/id.h"
#include "gpl/core/time.h"

namespace gpl {

/// Names an attempt in every message about it. The epoch grows when a cluster is taken over by
/// `gpl peers recover`: what the old one still says is told apart by it.
struct Fence {
  std::uint64_t epoch = 0;
  AttemptId attempt;
  friend auto operator<=>(const Fence&, const Fence&) = default;
};

/// Its peer has been told to start it, or will be.
struct Placed {
  friend bool operator==(const Placed&, const Placed&) = default;
};
/// It runs, as far as is known.
struct Started {
  Instant at;
  friend bool operator==(const Started&, const Started&) = default;
};
using AttemptState = std::variant<Placed, Started>;

/// One try at one task on one peer, while it holds what was allocated to it. An attempt that ended
/// is no longer one: its task is.
///
/// Attempts that were placed together share a slot: they run one after the other, in order of their
/// ids, on one and the same allocation, which is held once until the last of them has ended.
struct Attempt {
  Fence fence;
  AttemptId slot;  ///< the first attempt of its placing; its own id when it was placed alone
  JobId job;
  TaskId task;
  PeerId peer;
  Allocation allocation;  ///< the same in all attempts of the slot
  Instant placed_at;
  AttemptState state;
  bool cancelled = false;  ///< its peer has been told to end it, or will be
  friend bool operator==(const Attempt&, const Attempt&) = default;
};

/// An attempt that was given up with its outcome unknown: what it still says is refused. Kept for a
/// while, so that a keeper's report that it ran on after all finds its task.
struct FencedAttempt {
  Fence fence;
  JobId job;
  TaskId task;
  bool superseded = false;  ///< another attempt at the task has run since
  /// It ran on after its lease, and it was known to have ended before this attempt was placed, but
  /// not before those between the two. 0: nothing is known of that.
  AttemptId ended_before;
  friend bool operator==(const FencedAttempt&, const FencedAttempt&) = default;
};

}  // namespace gpl
