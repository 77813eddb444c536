#pragma once

#include <functional>
#include <optional>
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
  void receive(PeerId from, const WorkerToLeader& message);
  void tick();
  /// As Coordinator::forget.
  Status forget(PeerId peer);

  /// When `tick` is due at the latest; nothing while it does not lead.
  std::optional<Moment> wake_at() const { return coordinator_.wake_at(); }
  const Coordinator& coordinator() const { return coordinator_; }

 private:
  LeaderView view() const;
  void perform();
  void propose(std::vector<Command> commands);

  Replica& replica_;
  const Clock& clock_;
  Send send_;
  Coordinator coordinator_;
  raft::Term term_ = 0;  ///< that the coordinator leads in
  bool performing_ = false;
};

}  // namespace gpl::peer
