#pragma once

// A process with the product's Replica in it, over a simulated disk, clock and network. It is
// started from its disk, and killed between any two events.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpl/peer/replica.h"
#include "sim/consensus_checker.h"
#include "sim/sim_clock.h"
#include "sim/sim_committer.h"
#include "sim/sim_disk.h"
#include "sim/world.h"

namespace gpl::sim {

class SimReplica final : private peer::Transport {
 public:
  struct Around {
    World& world;
    ConsensusChecker& checker;
    SimDisk& disk;
    const DiskSpeed& speed;
    const SimClock& clock;
  };
  /// What the machine around it is told; `after_event` after each event, once all is checked.
  struct Told {
    std::function<void(raft::Message)> send;
    std::function<void(const peer::AppliedEntry&)> applied;
    std::function<void()> restored;
    std::function<void()> after_event;
    std::function<void(const Error&)> stopped;
  };

  SimReplica(Around around, Told told, peer::ReplicaOptions options, raft::Configuration bootstrap);

  raft::NodeId id() const { return options_.raft.id; }
  /// From what is on the disk. Errors as `Replica::open`. Requires not `running`.
  Status start();
  /// At once: what is on its way to the disk is done in part.
  void kill();
  /// Calls in the middle of what it next does to its disk. Requires `running`.
  void in_next_operation(std::function<void()> what) {
    committer_->in_next_operation(std::move(what));
  }
  /// SIGSTOP: nothing is seen before `wake`; then all that came meanwhile, in order.
  void pause() { paused_ = true; }
  void wake();
  bool paused() const { return paused_; }

  bool running() const { return replica_ != nullptr; }
  peer::Replica& replica() { return *replica_; }
  const peer::Replica& replica() const { return *replica_; }
  bool leads() const { return is_elected() && replica_->node().leads(); }
  bool is_elected() const {
    return running() && !paused_ && !replica_->failure() &&
           replica_->node().role() == raft::Role::leader;
  }

  /// The process's loop does this: at once, when it wakes, or never when it does not run.
  void sees(std::function<void()> what);
  void receive(raft::Message message);
  /// An event: f(peer::Replica&). Requires `running`, and that it is not paused.
  template <class F>
  auto event(F&& f) {
    auto answer = f(*replica_);
    after_event();
    return answer;
  }

 private:
  void send(raft::Message message) override;
  peer::Replica::Told replica_told();
  void after_event();
  void arm_timer();
  void tick();

  Around around_;
  Told told_;
  peer::ReplicaOptions options_;
  raft::Configuration bootstrap_;
  std::string name_;
  Prng dice_;
  Life life_;
  std::unique_ptr<SimCommitter> committer_;
  std::unique_ptr<peer::Replica> replica_;
  std::optional<Micros> tick_due_;  ///< virtual time; earlier than it needs to be, perhaps
  std::uint64_t tick_number_ = 0;
  int ticks_at_once_ = 0;
  bool stop_told_ = false;
  bool paused_ = false;
  std::vector<std::function<void()>> unseen_;  ///< while it is paused
};

}  // namespace gpl::sim
