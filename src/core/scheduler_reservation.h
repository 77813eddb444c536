#pragma once

#include <cstddef>
#include <optional>

#include "gpl/core/allocation.h"
#include "gpl/core/cluster_state.h"
#include "gpl/core/queue_place.h"
#include "gpl/core/requirement.h"
#include "gpl/core/time.h"
#include "scheduler_room.h"

namespace gpl {

/// A peer that is kept for a job which waits for what is held there. What is behind that job may
/// still start there when the job does not wait longer for it: beside the job, once all that is in
/// front of it has gone; or when a time limit ends it before the job can start.
class Reservation {
 public:
  /// `free_by`: when the job can start there, if that is known. `view` is the peer's.
  Reservation(const ClusterState& state, const QueuePlace& job, const Requirement& asked,
              PeerId peer, const PeerView& view, std::optional<Instant> free_by);

  PeerId peer() const { return peer_; }
  bool lets_end_before(const std::optional<Duration>& time_limit, Instant now) const;
  /// Calls `judge` once.
  bool lets_beside(JobId job, const Allocation& allocation, Instant now);
  /// Has been placed there, from behind.
  void note(JobId job, const Allocation& allocation);

 private:
  Requirement asked_;
  PeerId peer_;
  std::optional<Instant> free_by_;
  PeerView beside_;  ///< with nothing held but by jobs behind
};

}  // namespace gpl
