#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "gpl/core/attempt.h"
#include "gpl/core/job_record.h"
#include "gpl/core/queue_place.h"
#include "gpl/core/time.h"
#include "peer_load.h"

namespace gpl {

/// What is found by other things than its id. It follows from the records, is kept up with every
/// change of them and is made anew after a restore: no part of snapshots.
struct StateIndex {
  std::map<RequestId, JobId> requests;
  std::set<QueuePlace> placeable;
  std::set<std::pair<JobId, JobId>> dependents;  ///< (job, one that depends on it and lives)
  std::set<std::pair<Instant, JobId>> ended;     ///< jobs by their end
  std::set<std::pair<JobId, AttemptId>> by_job;
  std::set<std::pair<PeerId, AttemptId>> by_peer;
  std::set<std::pair<AttemptId, AttemptId>> by_slot;  ///< (slot, attempt of it that is under way)
  std::map<JobId, std::uint64_t> slots_used;          ///< of arrays with a limit
  std::map<PeerId, PeerLoad> loads;                   ///< of every known peer
  std::set<std::tuple<JobId, TaskId, AttemptId>> fenced;

  /// A job that has not ended.
  void add_live(const JobRecord& job);
  /// It has ended.
  void end(const JobRecord& job);
  void forget_ended(const JobRecord& job);

  void add(const Attempt& attempt, const JobDescription& description);
  void remove(const Attempt& attempt, const JobDescription& description);
  void add(const FencedAttempt& attempt);
  void remove(const FencedAttempt& attempt);

  /// An attempt of the slot is under way.
  bool holds(AttemptId slot) const;
  /// The only attempt of the slot that is still under way; nothing when there are more.
  std::optional<AttemptId> last_of(AttemptId slot) const;
  /// Requires a known peer.
  const PeerLoad& load_of(PeerId peer) const;
};

/// The second halves of the pairs that begin with `first`, in order.
template <class A, class B, class F>
void for_each_of(const std::set<std::pair<A, B>>& pairs, A first, F&& f) {
  for (auto at = pairs.lower_bound({first, B{}}); at != pairs.end() && at->first == first; ++at)
    f(at->second);
}

QueuePlace place_of(const JobRecord& job);

/// The limit of an array, or nothing.
std::optional<std::uint64_t> limit_of(const JobDescription& description);

}  // namespace gpl
