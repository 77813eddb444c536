#pragma once

// A machine's clocks: the steady one runs at its own rate from its own start, the wall clock is off
// by some hours and can be set.

#include "gpl/peer/clock.h"
#include "sim/sim_time.h"
#include "sim/world.h"

namespace gpl::sim {

class SimClock final : public peer::Clock {
 public:
  /// `rate_ppm`: how much faster than virtual time, in millionths.
  SimClock(const World& world, std::int64_t rate_ppm, Micros uptime, std::int64_t wall_offset_ms);

  Moment now() const override;
  Instant wall() const override;

  /// How long until `now` reaches the moment; 0: it has.
  Micros until(Moment moment) const;
  /// The steady clock begins anew.
  void reboot(Micros uptime);
  void set_wall(std::int64_t offset_ms) { wall_offset_ms_ = offset_ms; }

 private:
  Micros local_at(Micros at) const;

  const World& world_;
  std::int64_t rate_ppm_;
  Micros booted_at_;
  Micros uptime_at_boot_;
  std::int64_t wall_offset_ms_;
};

}  // namespace gpl::sim
