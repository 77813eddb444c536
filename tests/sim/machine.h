#pragma once

// A computer that can be a member of the consensus: its disk, its clocks, and the process with the
// replica, which dies and is started again.

#include <functional>
#include <memory>
#include <string>

#include "sim/network.h"
#include "sim/proposal_desk.h"
#include "sim/setup.h"
#include "sim/sim_clock.h"
#include "sim/sim_disk.h"
#include "sim/sim_replica.h"

namespace gpl::sim {

enum class Death {
  killed,      ///< the process alone: the kernel still has what it wrote
  power_lost,  ///< the whole machine
};

class Machine {
 public:
  /// What the cluster around it is told.
  struct Told {
    std::function<void(Machine&, raft::Message)> send;
    std::function<void(Machine&, const peer::AppliedEntry&)> applied;
    std::function<void(Machine&)> restored;
    std::function<void(Machine&)> after_event;
    std::function<void(Machine&)> down;
  };

  Machine(World& world, Network& network, ConsensusChecker& checker, const Setup& setup,
          std::string name, Told told);

  const std::string& name() const { return name_; }
  Endpoint endpoint() const { return endpoint_; }

  /// Becomes a member with an empty disk, and starts.
  void join(raft::NodeId id, const raft::Configuration& bootstrap);
  /// Is no member any more; its disk is wiped.
  void retire();
  bool is_member() const { return replica_ != nullptr; }
  /// Requires `is_member`.
  raft::NodeId id() const { return replica_->id(); }
  SimReplica& replica() { return *replica_; }
  bool up() const { return is_member() && replica_->running(); }
  bool leads() const { return is_member() && replica_->leads(); }
  /// Leads, perhaps without its no-op committed.
  bool is_elected() const { return is_member() && replica_->is_elected(); }

  /// The process is gone until `start`, which is tried again until it succeeds. Requires `up`.
  void die(Death death);
  void start();
  void start_after(Micros delay);

  /// Flips a bit on the disk of a process that is down, and says what came of it: whether the disk
  /// must be given up. A recovery that finds wrong data is a violation.
  bool flip_bit();

  ProposalDesk& desk() { return desk_; }
  SimDisk& disk() { return disk_; }
  DiskSpeed& speed() { return speed_; }
  SimClock& clock() { return clock_; }

 private:
  SimReplica::Told replica_told();
  void recover_power();
  void stopped();
  peer::ReplicaOptions options(raft::NodeId id) const;

  World& world_;
  ConsensusChecker& checker_;
  const Setup& setup_;
  std::string name_;
  Told told_;
  Endpoint endpoint_;
  Prng dice_;
  SimClock clock_;
  SimDisk disk_;
  DiskSpeed speed_;
  ProposalDesk desk_;
  std::unique_ptr<SimReplica> replica_;
  raft::Configuration bootstrap_;
  std::uint64_t failures_at_start_ = 0;
  std::uint64_t starts_ = 0;  ///< tells a start that is due from one that was overtaken
};

}  // namespace gpl::sim
