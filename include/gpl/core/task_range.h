#pragma once

#include <cstdint>

#include "gpl/core/id.h"

namespace gpl {

/// Consecutive tasks of a job, `first` to `last` inclusive. Requires first <= last.
struct TaskRange {
  TaskId first;
  TaskId last;

  std::uint64_t count() const { return last.value - first.value + 1; }
  bool contains(TaskId task) const { return first <= task && task <= last; }
  friend auto operator<=>(const TaskRange&, const TaskRange&) = default;
};

}  // namespace gpl
