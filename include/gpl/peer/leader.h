#pragma once

#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "gpl/core/coordinator.h"
#include "gpl/peer/clock.h"
#include "gpl/peer/replica.h"

namespace gpl::peer {

/// What a replica does while it leads: feeds the coordinator with what is applied, what workers say
/// and what time it is, proposes the commands and sends the orders that it wants. Made for every
/// replica, and idle until that leads.
class Leader {
 public:
  using Send = std::function<void(PeerId, const LeaderToWorker&)>;

  /// The replica must outlive it, and call `applied` and `after_event`.
  Leader(Replica& replica, const Clock& clock, PlacementRule rule, CoordinatorOptions options,
         Send send);

  // Events.
  /// From within Replica::Told::applied.
  void applied(const AppliedEntry& entry);
  /// After every event of the replica: leadership may have come or gone.
  void after_event();
  /// Elected, and not sure yet of all that was committed before: is kept until it leads.
  void receive(PeerId from, const WorkerToLeader& message);
  void receive(const std::vector<std::pair<PeerId, WorkerToLeader>>& messages);
  void tick();
  /// As Coordinator::forget.
  Status forget(PeerId peer);
  /// The peer leaves for good: what its worker still says is not heard, so that it is not taken for
  /// one that has come back. Until another leads.
  void leaves(PeerId peer);
  void may_return(PeerId peer) { left_.erase(peer); }

  /// When `tick` is due at the latest; nothing while it does not lead.
  std::optional<Moment> wake_at() const { return coordinator_.wake_at(); }
  const Coordinator& coordinator() const { return coordinator_; }

 private:
  LeaderView view() const;
  bool is_elected() const;
  void hear_early();
  void perform();
  void propose(std::vector<Command> commands);

  Replica& replica_;
  const Clock& clock_;
  Send send_;
  Coordinator coordinator_;
  raft::Term term_ = 0;  ///< that the coordinator leads in
  std::set<PeerId> left_;
  std::vector<std::pair<PeerId, WorkerToLeader>> early_;  ///< said before it leads
  bool performing_ = false;
};

}  // namespace gpl::peer
