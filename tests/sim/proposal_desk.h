#pragma once

// Proposals that wait for their fate: committed at the index and term that they got, or lost to
// another leader's entry.

#include <functional>
#include <utility>
#include <vector>

#include "gpl/peer/replica.h"
#include "sim/sim_replica.h"

namespace gpl::sim {

class ProposalDesk {
 public:
  /// The entry as it was applied here; null: lost, or not known any more.
  using Done = std::function<void(const peer::AppliedEntry*)>;

  /// False: refused at once (not the leader), and `done` is not called.
  bool propose(SimReplica& replica, const std::vector<Command>& commands, Done done);

  /// The same for what was proposed elsewise.
  void wait_for(const peer::Replica::Proposed& place, Done done) {
    waiting_.push_back({place, std::move(done)});
  }

  void applied(const peer::AppliedEntry& entry);
  /// A snapshot or a restart: nobody will tell what became of them.
  void forget();

 private:
  struct Waiting {
    peer::Replica::Proposed place;
    Done done;
  };
  std::vector<Waiting> waiting_;
};

}  // namespace gpl::sim
