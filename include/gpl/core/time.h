#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "gpl/core/result.h"

namespace gpl {

/// A length of time in milliseconds. Made by `milliseconds` and `seconds`; may be negative.
struct Duration {
  std::int64_t count_ms = 0;
  friend auto operator<=>(const Duration&, const Duration&) = default;
};

constexpr Duration milliseconds(std::int64_t count) { return Duration{count}; }
/// Requires a count whose milliseconds fit 64 bits.
constexpr Duration seconds(std::int64_t count) { return Duration{count * 1000}; }

/// A point in time in milliseconds since 1970-01-01T00:00:00Z. It is passed in: core has no clock.
struct Instant {
  std::int64_t since_epoch_ms = 0;
  friend auto operator<=>(const Instant&, const Instant&) = default;
};

constexpr Instant operator+(Instant at, Duration d) {
  return Instant{at.since_epoch_ms + d.count_ms};
}
constexpr Duration operator-(Instant later, Instant earlier) {
  return Duration{later.since_epoch_ms - earlier.since_epoch_ms};
}

/// A point on one machine's steady clock, in milliseconds: it never goes back, and counts while the
/// machine sleeps (CLOCK_BOOTTIME). Moments of different machines, or boots, do not compare.
struct Moment {
  std::int64_t since_boot_ms = 0;
  friend auto operator<=>(const Moment&, const Moment&) = default;
};

constexpr Moment operator+(Moment at, Duration d) { return Moment{at.since_boot_ms + d.count_ms}; }
constexpr Duration operator-(Moment later, Moment earlier) {
  return Duration{later.since_boot_ms - earlier.since_boot_ms};
}

/// The longest duration that `parse_duration` takes: 36500 days, so that no Instant of this age
/// overflows when one is added to it.
inline constexpr Duration longest_duration = seconds(std::int64_t{36500} * 86400);

/// Reads `90s`, `10m`, `1h30m` (units d h m s ms, the largest first, each at most once) or
/// `HH:MM:SS` (MM and SS below 60). A bare number, a fraction, zero, a sign, and anything longer
/// than `longest_duration` are refused with Code::invalid and the column (from 1) where it shows.
Result<Duration> parse_duration(std::string_view text);

/// The exact text that `parse_duration` reads back, such as `1h30m` or `1s500ms`.
/// Requires a duration that is not negative; zero is `0s`.
std::string format_duration(Duration duration);

/// A few characters for a table, rounded down: `40s`, `3m`, `1h12m`, `2d3h`, `12d`. A negative
/// duration (a clock was set back) is `0s`.
std::string format_short(Duration duration);

}  // namespace gpl
