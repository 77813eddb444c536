#pragma once

// A plain peer: a keeper with the product's Worker in it, and the simulated processes that it
// starts and ends. The keeper can be stopped and woken, killed and started anew, or rebooted with
// its machine.

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gpl/core/worker.h"
#include "sim/network.h"
#include "sim/process_checker.h"
#include "sim/setup.h"
#include "sim/sim_clock.h"
#include "sim/world.h"

namespace gpl::sim {

class SimWorker {
 public:
  /// Says something to the member of this number.
  using Send = std::function<void(const SimWorker&, std::size_t member, const WorkerToLeader&)>;

  SimWorker(World& world, Network& network, ProcessChecker& checker, const Setup& setup,
            PeerId peer, std::size_t members, Send send);

  PeerId peer() const { return peer_; }
  Endpoint endpoint() const { return endpoint_; }
  const std::string& name() const { return name_; }
  SimClock& clock() { return clock_; }
  bool up() const { return worker_.has_value(); }
  bool stopped() const { return stopped_; }
  bool gone() const { return gone_; }

  void start();
  void receive(LeaderToWorker message);
  /// The member that was asked does not lead; this one does, as far as it knows.
  void redirected(std::size_t member);

  /// Sees each outcome that has come to the keeper's disk.
  std::function<void(const EndedAttempt&)> on_kept;

  // Faults. Each requires `up`, `stop` that it is not stopped.
  void stop();  ///< SIGSTOP of the keeper: nothing is seen or done until it wakes; processes run on
  void wake();
  void kill_keeper();  ///< the guards end their attempts
  void reboot();       ///< the machine: no process is left
  void leave();        ///< it never comes back

 private:
  /// A process and the guard around it, or one that is just being started.
  struct Process {
    to_worker::Start start;
    bool begun = false;
    bool term_sent = false;       ///< asked to end
    bool unkillable = false;      ///< for a while after the KILL
    bool late = false;            ///< its keeper was stopped just before the fork
    std::uint64_t plan = 0;       ///< tells what is due next from what was overtaken
    std::uint64_t forked_by = 0;  ///< number of the keeper
    std::uint64_t keeper = 0;     ///< number of the newest keeper that knows of it
  };

  Clocks clocks() const { return {clock_.now(), clock_.wall()}; }
  /// The keeper sees something: at once, or when it wakes.
  void sees(std::function<void()> what);
  void after_event();
  void perform_next();
  void perform(const WorkerOutput& output);
  void arm_timer();
  void say(const WorkerToLeader& message);
  void look_for_leader();
  void try_member(std::size_t member);

  void begin(const to_worker::Start& start);
  void run_after(const Fence& fence, Micros delay);
  void run(const Fence& fence);
  void end_after(const Fence& fence, Micros delay, Outcome outcome);
  void process_gone(const Fence& fence, const Outcome& outcome);
  void terminate(const Fence& fence, Micros grace);
  void keeper_gone();
  RestoredWorker restored();
  ProcessKey key(const Fence& fence) const { return {peer_, fence}; }

  World& world_;
  ProcessChecker& checker_;
  const Setup& setup_;
  PeerId peer_;
  std::size_t members_;
  Send send_;
  std::string name_;
  Endpoint endpoint_;
  Prng dice_;
  SimClock clock_;
  std::optional<Worker> worker_;
  Life life_;  ///< the keeper's
  std::uint64_t keepers_ = 0;
  bool stopped_ = false;
  bool gone_ = false;
  std::vector<std::function<void()>> unseen_;  ///< while it is stopped
  std::deque<WorkerOutput> outputs_;           ///< the first is being performed
  std::size_t late_outputs_ = 0;  ///< so many of them were decided before the keeper was stopped
  std::map<Fence, EndedAttempt> kept_;  ///< on disk
  std::map<Fence, Process> processes_;
  std::uint64_t next_plan_ = 0;
  std::optional<Moment> renewed_at_;  ///< as the last keeper had it, of this boot
  std::size_t leader_;                ///< number of the member that is thought to lead
  Micros heard_at_ = 0;
  std::optional<Micros> tick_due_;
  std::uint64_t tick_number_ = 0;
};

/// What the peer lends: one or two devices.
PeerOffer worker_offer(const std::string& name, PeerId peer);

/// For a trace.
std::string describe(const WorkerToLeader& message);
std::string describe(const LeaderToWorker& message);

}  // namespace gpl::sim
