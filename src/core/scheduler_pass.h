#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <vector>

#include "gpl/core/cluster_state.h"
#include "gpl/core/command.h"
#include "gpl/core/queue_place.h"
#include "scheduler_reservation.h"
#include "scheduler_search.h"

namespace gpl {

/// One pass of the scheduler at work.
class PassAtWork {
 public:
  /// One reservation keeps the first job in order from being starved; with more, less is lent.
  static constexpr std::size_t most_reservations = 1;
  /// Jobs that are passed over without a check count little, but count.
  static constexpr std::size_t jobs_per_check = 16;

  PassAtWork(const ClusterState& state, Instant now, std::size_t checks,
             const std::set<PeerId>& away)
      : state_(&state), now_(now), most_checks_(checks), search_(state, now, away) {}

  bool has_room() const { return search_.has_free_cpu(); }
  enum class Look {
    done,           ///< all that may be placed of the job now is
    stuck,          ///< it has a task that finds no place
    out_of_checks,  ///< it is to be looked at again
  };
  /// Requires a placeable job that this pass has not looked at.
  Look look_at(const QueuePlace& job);
  /// A peer that is kept for a job, and when the job can start there, if that is known.
  struct KeptPeer {
    PeerId peer;
    std::optional<Instant> free_by;
  };
  /// Keeps a peer for the job, if it could run on one: the one before, if it could there. Nothing
  /// when it could not, or as many peers are kept as may be. Requires one that is stuck.
  std::optional<KeptPeer> reserve(const QueuePlace& job, const std::optional<KeptPeer>& before);
  /// Another job is looked at whatever was until now.
  void allow_another() { looked_ = 0; }

  std::size_t checks() const { return search_.checks(); }
  std::vector<command::Place> take_places() { return std::move(places_); }

 private:
  bool may_look() const;
  bool lets(Wish& wish, std::size_t room, const JobRecord& job);
  void put(const JobRecord& job, TaskId task, std::size_t room, Allocation allocation);
  Reservation* reservation_of(PeerId peer);

  const ClusterState* state_;
  Instant now_;
  std::size_t most_checks_;
  Search search_;
  std::vector<Reservation> reservations_;
  std::vector<command::Place> places_;
  std::size_t passed_ = 0;  ///< jobs
  std::size_t looked_ = 0;  ///< for places
};

}  // namespace gpl
