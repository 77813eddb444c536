#include "gpl/posix/clock.h"

namespace gpl::posix {
namespace {

Instant read(clockid_t clock) {
  timespec now;
  ::clock_gettime(clock, &now);
  return Instant{to_ns(now) / 1'000'000};
}

}  // namespace

Instant wall_clock() { return read(CLOCK_REALTIME); }
Instant boot_clock() { return read(CLOCK_BOOTTIME); }
Instant awake_clock() { return read(CLOCK_MONOTONIC); }

timespec to_timespec(std::int64_t ns) {
  constexpr std::int64_t second_ns = 1'000'000'000;
  const std::int64_t part = (ns % second_ns + second_ns) % second_ns;
  return timespec{(ns - part) / second_ns, part};
}

}  // namespace gpl::posix
