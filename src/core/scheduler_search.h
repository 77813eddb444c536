#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "gpl/core/allocation.h"
#include "gpl/core/cluster_state.h"
#include "gpl/core/fit.h"
#include "gpl/core/job_description.h"
#include "gpl/core/requirement.h"
#include "gpl/core/time.h"
#include "scheduler_room.h"

namespace gpl {

/// What one requirement finds in the rooms. It is looked at again only where something was placed
/// since.
struct Wish {
  struct Seen {
    std::optional<std::uint64_t> changes;  ///< the room's, when it was looked at; nothing: never
    std::optional<Allocation> allocation;  ///< nothing: it does not fit
    Rank rank;
    bool not_beside = false;  ///< a reservation does not let it in beside
  };

  Requirement requirement;  ///< as the job has it
  Requirement asked;        ///< in a cluster
  std::vector<Seen> seen;   ///< by room
  bool fits_nowhere = false;
  bool never_alone = false;  ///< not on an empty peer either
};

/// Looks for places among the peers that take work, by `judge` alone, and counts how often it is
/// called. What is placed counts from then on. Must not outlive a change of the state.
class Search {
 public:
  Search(const ClusterState& state, Instant now, const std::set<PeerId>& away)
      : now_(now), rooms_(open_rooms(state, away)) {}

  std::vector<Room>& rooms() { return rooms_; }
  const std::vector<Room>& rooms() const { return rooms_; }
  bool has_free_cpu() const { return gpl::has_free_cpu(rooms_); }
  std::size_t checks() const { return checks_; }
  void count_check() { ++checks_; }
  Fit judge_in(const Requirement& asked, Room& room);

  /// The wish with this requirement: valid until the next call.
  Wish& wish_for(const Requirement& requirement);
  /// The number of the best room that fits and that `lets` (it is asked of the best first, with the
  /// number of the room), or nothing.
  ///
  /// Of peers on which as many processors and devices are left, `home` comes first: its files are
  /// there, and nothing has to come from elsewhere.
  std::optional<std::size_t> best(Wish& wish, PeerId home,
                                  const std::function<bool(std::size_t)>& lets);

 private:
  void look(Wish& wish, std::size_t room);

  Instant now_;
  std::vector<Room> rooms_;
  std::map<std::uint64_t, std::vector<Wish>> wishes_;  ///< by a number made of the requirement
  std::size_t checks_ = 0;
};

/// Whether this version places jobs of this shape: those of single tasks.
bool is_placed_by_task(const JobShape& shape);

}  // namespace gpl
