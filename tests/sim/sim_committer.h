#pragma once

// Performs a process's disk operations in virtual time, each lane one after the other. Between any
// two of them, and in the middle of one, the process can be killed.

#include <array>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "gpl/core/prng.h"
#include "gpl/store/committer.h"
#include "sim/sim_disk.h"
#include "sim/world.h"

namespace gpl::sim {

/// How long a machine's disk takes.
struct DiskSpeed {
  Micros write = 15;
  Micros sync_low = 80;
  Micros sync_high = 400;
  std::uint64_t slow_one_in = 200;  ///< a sync that takes 20 times as long
  Micros stalled_until = 0;         ///< nothing is synced before
};

class SimCommitter final : public store::Committer {
 public:
  /// `loop` is given each `done`, to be called when the process comes to it. The speed may change.
  SimCommitter(World& world, Life life, SimDisk& disk, const DiskSpeed& speed, std::string name,
               Prng dice, std::function<void(std::function<void()>)> loop);

  void submit(Lane lane, std::vector<store::Operation> operations, Done done) override;
  void submit(Lane lane, Source source, Done done) override;

  /// The process is killed: what is on its way is done in part.
  void interrupt();
  /// Called in the middle of the next operation, once.
  void in_next_operation(std::function<void()> what) { in_next_operation_ = std::move(what); }

 private:
  struct Work {
    Source source;
    Done done;
  };
  struct LaneState {
    std::deque<Work> works;  ///< the first is under way
    std::optional<store::Operation> in_flight;
  };

  LaneState& lane(Lane which) { return lanes_[static_cast<std::size_t>(which)]; }
  void next_operation(Lane which);
  void finish(Lane which, Status status);
  Micros duration(const store::Operation& operation);
  Micros sync_duration();

  World& world_;
  Life life_;
  SimDisk& disk_;
  const DiskSpeed& speed_;
  std::string name_;
  Prng dice_;
  std::function<void(std::function<void()>)> loop_;
  std::function<void()> in_next_operation_;
  std::array<LaneState, 2> lanes_;
};

}  // namespace gpl::sim
