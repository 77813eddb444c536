#pragma once

// The product's Leader in the process on a member's machine: gives it its events and timers, and
// takes clients' commands.

#include <functional>
#include <memory>
#include <optional>

#include "gpl/peer/leader.h"
#include "sim/machine.h"
#include "sim/world.h"

namespace gpl::sim {

class SimLeader {
 public:
  using SendToWorker = std::function<void(const Machine&, PeerId, const LeaderToWorker&)>;
  /// What became of a client's command. Nothing: not known; it may have been taken.
  using Answer = std::function<void(std::optional<Applied>)>;

  SimLeader(World& world, Machine& machine, CoordinatorOptions options, SendToWorker send);

  // Events of the machine's process.
  void after_event();
  void applied(const peer::AppliedEntry& entry);
  void receive(PeerId from, const WorkerToLeader& message);
  /// The process died, or has stopped.
  void down();

  /// A client's command. False: this is not the leader.
  bool propose(Command command, Answer answer);
  /// A person gives a peer up.
  Status forget(PeerId peer);

 private:
  peer::Leader& leader();
  /// An event of the process: what the leader proposes in it is an event of the replica too.
  template <class F>
  void event(F&& what);
  void arm_timer();

  World& world_;
  Machine& machine_;
  CoordinatorOptions options_;
  SendToWorker send_;
  std::unique_ptr<peer::Leader> leader_;  ///< as long as the process lives
  std::optional<Micros> tick_due_;
  std::uint64_t tick_number_ = 0;
};

}  // namespace gpl::sim
