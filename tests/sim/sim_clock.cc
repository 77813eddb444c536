#include "sim/sim_clock.h"

#include <algorithm>

namespace gpl::sim {

namespace {

constexpr std::int64_t million = 1'000'000;
/// 2026-01-01T00:00:00Z, when virtual time begins.
constexpr std::int64_t epoch_ms = 1'767'225'600'000;

}  // namespace

SimClock::SimClock(const World& world, std::int64_t rate_ppm, Micros uptime,
                   std::int64_t wall_offset_ms)
    : world_(world),
      rate_ppm_(rate_ppm),
      booted_at_(world.now()),
      uptime_at_boot_(uptime),
      wall_offset_ms_(wall_offset_ms) {}

Micros SimClock::local_at(Micros at) const {
  const Micros passed = at - booted_at_;
  return uptime_at_boot_ + passed + passed * rate_ppm_ / million;
}

Moment SimClock::now() const { return Moment{local_at(world_.now()) / 1000}; }

Instant SimClock::wall() const { return Instant{epoch_ms + wall_offset_ms_ + world_.now() / 1000}; }

Micros SimClock::until(Moment moment) const {
  // A moment that never comes ("no timer") stays far away instead of overflowing.
  constexpr std::int64_t far_ms = std::int64_t{1} << 40;
  const Micros wanted = std::min(moment.since_boot_ms, far_ms) * 1000;
  const Micros left = wanted - local_at(world_.now());
  if (left <= 0) return 0;
  Micros delay = std::max<Micros>(0, left * million / (million + rate_ppm_) - 2);
  while (local_at(world_.now() + delay) < wanted) ++delay;
  return delay;
}

void SimClock::reboot(Micros uptime) {
  booted_at_ = world_.now();
  uptime_at_boot_ = uptime;
}

}  // namespace gpl::sim
