#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpl/core/result.h"

namespace gpl {

inline constexpr int minutes_of_day = 24 * 60;

/// From a minute of the day up to, and without, another one: over midnight when `end` is not after
/// `begin`. 0 <= begin < 1440, 0 < end <= 1440, and they are not equal.
struct DayTimes {
  int begin = 0;
  int end = minutes_of_day;
  friend bool operator==(const DayTimes&, const DayTimes&) = default;
};

/// When a machine lends, by its own local time. Without any times: always.
struct LendingHours {
  std::vector<DayTimes> times;  ///< as they were written; may overlap
  friend bool operator==(const LendingHours&, const LendingHours&) = default;
};

/// Reads `20:00-08:00`, and several with commas between. Code::invalid with the column (from 1).
Result<LendingHours> parse_lending_hours(std::string_view text);
/// `20:00-08:00,12:00-13:00`: what is read back as the same.
std::string to_string(const LendingHours& hours);
/// "from 20:00 to 08:00 and from 12:00 to 13:00". Requires times.
std::string in_words(const LendingHours& hours);

/// Requires 0 <= minute < 1440.
bool is_open(const LendingHours& hours, int minute);
/// In how many minutes it closes or opens, 1 to 1439; nothing when it never does. Requires a minute
/// as above.
std::optional<int> minutes_to_change(const LendingHours& hours, int minute);

}  // namespace gpl
