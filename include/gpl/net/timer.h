#pragma once

#include <cstdint>
#include <memory>

#include "gpl/core/time.h"

namespace gpl::net {

struct LoopState;

/// A task that a Loop runs once, later. Dropping or cancelling it means that the task does not run;
/// it may do so itself. It may outlive its loop.
class Timer {
 public:
  Timer() = default;
  Timer(Timer&&) noexcept;
  Timer& operator=(Timer&&) noexcept;
  ~Timer();

  void cancel();
  /// Whether it is still to run.
  bool pending() const;

 private:
  friend struct LoopState;
  Timer(std::weak_ptr<LoopState> loop, Moment when, std::uint64_t id);

  std::weak_ptr<LoopState> loop_;
  Moment when_;
  std::uint64_t id_ = 0;
};

}  // namespace gpl::net
