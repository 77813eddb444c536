#include "scheduler_reservation.h"

#include <limits>
#include <set>

#include "gpl/core/fit.h"

namespace gpl {
namespace {

// What jobs behind this place have of the peer, and nothing else.
PeerView held_from_behind(const ClusterState& state, const QueuePlace& place, PeerId peer,
                          const PeerView& view) {
  PeerView beside = emptied(view);
  std::set<AttemptId> slots;
  for (const AttemptId id : state.attempts_on(peer)) {
    const Attempt& attempt = *state.find_attempt(id);
    const JobRecord& job = *state.find_job(attempt.job);
    const QueuePlace other{job.description->priority, job.id};
    if (place < other && slots.insert(attempt.slot).second)
      hold(beside, attempt.job, attempt.allocation);
  }
  return beside;
}

}  // namespace

Reservation::Reservation(const ClusterState& state, const QueuePlace& job, const Requirement& asked,
                         PeerId peer, const PeerView& view, std::optional<Instant> free_by)
    : asked_(asked),
      peer_(peer),
      free_by_(free_by),
      beside_(held_from_behind(state, job, peer, view)) {}

bool Reservation::lets_end_before(const std::optional<Duration>& time_limit, Instant now) const {
  if (!time_limit || !free_by_) return false;
  constexpr std::int64_t latest = std::numeric_limits<std::int64_t>::max();
  if (now.since_epoch_ms > latest - time_limit->count_ms) return false;
  return now + *time_limit <= *free_by_;
}

bool Reservation::lets_beside(JobId job, const Allocation& allocation, Instant now) {
  hold(beside_, job, allocation);
  const bool fits = judge(asked_, beside_, now).fits();
  let_go(beside_, allocation);
  return fits;
}

void Reservation::note(JobId job, const Allocation& allocation) { hold(beside_, job, allocation); }

}  // namespace gpl
