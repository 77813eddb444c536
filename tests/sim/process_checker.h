#pragma once

// Counts the processes that really run, over all machines: of a task never two at once, on a device
// never two. DESIGN names two exceptions: a keeper that was stopped, and a process that the kernel
// cannot kill. Then two may run, and it must be reported in the end.

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpl/core/allocation.h"
#include "gpl/core/attempt.h"
#include "gpl/core/cluster_state.h"
#include "sim/world.h"

namespace gpl::sim {

/// A process of an attempt.
struct ProcessKey {
  PeerId peer;
  Fence fence;
  friend auto operator<=>(const ProcessKey&, const ProcessKey&) = default;
};

class ProcessChecker {
 public:
  explicit ProcessChecker(World& world) : world_(world) {}

  void began(const ProcessKey& process, JobId job, TaskId task, const Allocation& allocation);
  void ended(const ProcessKey& process);
  /// Its keeper was stopped, or it cannot be killed: it may run beside another.
  void excuse(const ProcessKey& process);
  /// The log says that the lease is over: the task may start elsewhere at once.
  void lease_over(const ProcessKey& process);
  /// Whoever could tell of it is gone: an overlap of this process need not be reported.
  void silence(PeerId peer);

  /// It was told to end, and whoever wants its device waits for the lock that its guard has.
  void ending(const ProcessKey& process);
  /// Whether a process that is ending, or excused, still has one of the devices.
  bool locked(PeerId peer, const Allocation& allocation) const;
  /// An overlap that there was and that is not in the state: the process that ran on, or its
  /// keeper, has still to tell.
  std::optional<std::string> unreported(const ClusterState& state) const;

 private:
  struct Process {
    JobId job;
    TaskId task;
    Allocation allocation;
    bool excused = false;
    bool ending = false;
  };
  struct Overlap {
    ProcessKey excused;
    JobId job;
    TaskId task;
  };

  void beside(const ProcessKey& key, const Process& process, const ProcessKey& other_key,
              const Process& other);

  World& world_;
  std::map<ProcessKey, Process> running_;
  std::vector<Overlap> overlaps_;
};

}  // namespace gpl::sim
