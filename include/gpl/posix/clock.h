#pragma once

#include <cstdint>
#include <ctime>

#include "gpl/core/time.h"

namespace gpl::posix {

/// The time of day, which can be set back: for people and records.
Instant wall_clock();
/// Since the machine booted, sleep included: for time limits, which count a laptop's sleep.
Instant boot_clock();
/// Since the machine booted, without sleep: for graces and retries.
Instant awake_clock();

/// A file's time in ns since the epoch.
constexpr std::int64_t to_ns(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}
/// The inverse, also before the epoch.
timespec to_timespec(std::int64_t ns);

}  // namespace gpl::posix
