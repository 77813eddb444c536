#pragma once

// What befalls a cluster: draws a fault, does it, undoes it after a while, and draws the next,
// until it is told to stop; then all that was broken is mended.

#include <functional>
#include <optional>
#include <vector>

#include "sim/cluster.h"
#include "sim/operator.h"

namespace gpl::sim {

class Faults {
 public:
  Faults(Cluster& cluster, Operator& looking_after);

  void start();
  void stop();

 private:
  void next();
  Fault draw();
  void inject(Fault fault);

  /// Somebody was elected: the moments in which consensus is hardest.
  void fell_leader(std::size_t number);

  // Networks.
  void split();
  void one_way();
  void isolate();
  void slow_network();
  void heal_later();
  // Processes.
  void crash(Fault kind);
  void crash(std::size_t number, Fault kind);
  void die(std::size_t number, Fault kind);
  void pause();
  void transfer();
  void membership();
  // Disks and clocks.
  void disk_full();
  void sync_failure();
  void disk_stall();
  void bit_flip();
  void disk_loss();
  void clock_jump();
  // Plain peers.
  void keeper_stop();
  void keeper_kill();
  void worker_reboot();
  void late_grant();

  /// A machine whose member is up, the leader in a third of the draws; size(): none is.
  std::size_t some_member();
  SimWorker* some_worker();
  /// One disk may be lost now without a quorum being lost with it.
  bool can_lose_a_disk() const;
  /// Where an election timeout is a second; scaled to what it is.
  Micros draw_time(Micros low, Micros high);

  Cluster& cluster_;
  World& world_;
  Operator& operator_;
  Prng dice_;
  std::uint64_t weight_ = 0;
  bool stopped_ = false;
  std::uint64_t partition_ = 0;  ///< number of the newest: heals it, and no later one
  std::uint64_t slowness_ = 0;
};

}  // namespace gpl::sim
