#pragma once

#include <compare>
#include <cstdint>

#include "gpl/core/id.h"

namespace gpl {

/// Where a job stands in the queue: higher priority first, then the older job.
struct QueuePlace {
  std::int32_t priority = 0;
  JobId job;

  /// Less is in front.
  friend std::strong_ordering operator<=>(const QueuePlace& a, const QueuePlace& b) {
    if (a.priority != b.priority) return b.priority <=> a.priority;
    return a.job <=> b.job;
  }
  friend bool operator==(const QueuePlace&, const QueuePlace&) = default;
};

}  // namespace gpl
