#pragma once

#include <functional>
#include <memory>

#include "gpl/core/result.h"
#include "gpl/core/time.h"
#include "gpl/net/timer.h"
#include "gpl/net/watch.h"

namespace gpl::net {

/// The one thread that owns all state waits here, in turns. A turn waits until something is ready,
/// runs the timers that are due, what is called for ready descriptors and what was posted, then
/// what was put off to its end, and then the connections write, so that all of a turn goes out
/// together. Nothing else wakes it up. Its descriptors are closed on exec.
///
/// All calls on its thread but `post` and `stop`. Tasks may add and drop anything, themselves
/// included, but must not run the loop. Timers, watches and connections may outlive it, and are
/// dead then; who posts from another thread must not.
class Loop {
 public:
  using Task = std::function<void()>;

  /// Code::io when there is no descriptor left.
  static Result<std::unique_ptr<Loop>> create();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Turn after turn until `stop`, which ends it after the turn it is in. What was not run by then
  /// is kept for the next `run`.
  void run();
  /// One turn that waits `at_most`. Whether anything ran.
  bool run_one(Duration at_most);
  /// From any thread.
  void stop();

  /// From any thread: runs in the order posted; what a posted task posts runs in the next turn.
  void post(Task task);
  /// Runs once at least `delay` has passed, the machine's sleep included.
  [[nodiscard]] Timer after(Duration delay, Task task);
  [[nodiscard]] Timer at(Moment when, Task task);
  /// Calls `readable`, once a turn, while there is something to read (level, not edge). Code::io
  /// for a descriptor that cannot be waited for (a file on disk) or at the system's limit.
  [[nodiscard]] Result<Watch> watch(int descriptor, Task readable);
  [[nodiscard]] Result<Watch> watch(int descriptor, Interest interest,
                                    std::function<void(Ready)> ready);
  /// Runs once all that is ready in this turn has been handled, in the order put off; what it puts
  /// off itself runs in this turn too. It cannot be taken back.
  void at_end_of_turn(Task task);

  /// CLOCK_BOOTTIME, read anew by each call.
  Moment now() const;

 private:
  friend class Connection;
  explicit Loop(std::shared_ptr<LoopState> state);

  std::shared_ptr<LoopState> state_;
};

}  // namespace gpl::net
