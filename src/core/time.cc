#include "gpl/core/time.h"

#include <array>
#include <cassert>
#include <cstddef>
#include <optional>

namespace gpl {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t ms;
};

// The largest first: the order in which a compound such as 1h30m is written.
constexpr std::array<Unit, 5> units = {
    {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1000}, {"ms", 1}}};

constexpr std::string_view forms = "write 90s, 10m, 1h30m or HH:MM:SS";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The characters from `from` on that are digits (or, with `digits` false, that are not).
std::string_view run_of(std::string_view text, std::size_t from, bool digits) {
  std::size_t end = from;
  while (end < text.size() && is_digit(text[end]) == digits) ++end;
  return text.substr(from, end - from);
}

/// `at` counts from 0, the message from 1.
Error refused(std::string_view text, std::string_view why, std::size_t at) {
  return Error{Code::invalid, "'" + std::string(text) + "' is not a duration: " + std::string(why) +
                                  ", at column " + std::to_string(at + 1) + "; " +
                                  std::string(forms)};
}

Error too_long(std::string_view text) {
  return Error{Code::invalid,
               "'" + std::string(text) + "' is too long a duration: the longest is 36500d"};
}

/// The number that `digits` spell, or the first number beyond `longest_duration` when it is more:
/// enough to be refused, and too small to overflow when multiplied by a unit.
std::int64_t bounded_number(std::string_view digits) {
  constexpr std::int64_t limit = longest_duration.count_ms + 1;
  std::int64_t number = 0;
  for (char c : digits) {
    number = number * 10 + (c - '0');
    if (number >= limit) return limit;
  }
  return number;
}

/// total + number * unit_ms, or nothing beyond `longest_duration`.
std::optional<std::int64_t> add_bounded(std::int64_t total, std::int64_t number,
                                        std::int64_t unit_ms) {
  constexpr std::int64_t limit = longest_duration.count_ms;
  if (number > (limit - total) / unit_ms) return std::nullopt;
  return total + number * unit_ms;
}

Result<Duration> positive(std::string_view text, std::int64_t total_ms) {
  if (total_ms > 0) return milliseconds(total_ms);
  return Error{Code::invalid, "'" + std::string(text) + "' is no time at all: a duration must be " +
                                  "more than zero"};
}

Result<Duration> parse_clock(std::string_view text) {
  std::array<std::string_view, 3> parts;
  std::size_t at = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i] = run_of(text, at, true);
    if (parts[i].empty()) return refused(text, "a number is missing", at);
    if (i > 0 && (parts[i].size() != 2 || parts[i] > "59"))
      return refused(text, "minutes and seconds are 00 to 59", at);
    at += parts[i].size();
    const bool last = i + 1 == parts.size();
    if (last && at != text.size()) return refused(text, "there is more after the seconds", at);
    if (last) break;
    // Of two parts nobody can tell whether they are HH:MM or MM:SS.
    if (at == text.size()) return refused(text, "HH:MM:SS has three parts", at);
    if (text[at] != ':') return refused(text, "':' is missing", at);
    ++at;
  }
  std::int64_t total = 0;
  constexpr std::array<std::int64_t, 3> part_ms = {3'600'000, 60'000, 1000};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto sum = add_bounded(total, bounded_number(parts[i]), part_ms[i]);
    if (!sum) return too_long(text);
    total = *sum;
  }
  return positive(text, total);
}

Result<Duration> parse_units(std::string_view text) {
  std::int64_t total = 0;
  std::size_t next_unit = 0;  // units before it are used up
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view number = run_of(text, at, true);
    if (number.empty()) return refused(text, "a number is missing", at);
    at += number.size();
    const std::string_view name = run_of(text, at, false);
    if (name.empty()) {
      // Sleep's and timeout's bare number is seconds; srun's is minutes. So it is asked, not
      // guessed.
      const bool bare = number.size() == text.size();
      return refused(text,
                     bare ? "a unit is missing (" + std::string(text) + "s?)"
                          : std::string("a unit is missing"),
                     at);
    }
    std::size_t unit = 0;
    while (unit < units.size() && units[unit].name != name) ++unit;
    if (unit == units.size())
      return refused(text, "'" + std::string(name) + "' is not a unit (d h m s ms)", at);
    if (unit < next_unit) return refused(text, "units go from the largest down, each once", at);
    const auto sum = add_bounded(total, bounded_number(number), units[unit].ms);
    if (!sum) return too_long(text);
    total = *sum;
    next_unit = unit + 1;
    at += name.size();
  }
  return positive(text, total);
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  if (text.empty()) return refused(text, "it is empty", 0);
  return text.find(':') == std::string_view::npos ? parse_units(text) : parse_clock(text);
}

std::string format_duration(Duration duration) {
  assert(duration >= Duration{});
  if (duration == Duration{}) return "0s";
  std::string text;
  std::int64_t rest = duration.count_ms;
  for (const Unit& unit : units) {
    if (rest >= unit.ms) text += std::to_string(rest / unit.ms) + std::string(unit.name);
    rest %= unit.ms;
  }
  return text;
}

std::string format_short(Duration duration) {
  if (duration < Duration{}) return "0s";
  const std::int64_t total_s = duration.count_ms / 1000;
  const std::int64_t days = total_s / 86400;
  const std::int64_t hours = total_s / 3600 % 24;
  const std::int64_t minutes = total_s / 60 % 60;
  const auto pair = [](std::int64_t large, char large_unit, std::int64_t small, char small_unit) {
    std::string text = std::to_string(large) + large_unit;
    if (small > 0) text += std::to_string(small) + small_unit;
    return text;
  };
  if (days >= 10) return std::to_string(days) + "d";
  if (days > 0) return pair(days, 'd', hours, 'h');
  if (hours > 0) return pair(hours, 'h', minutes, 'm');
  if (minutes > 0) return std::to_string(minutes) + "m";
  return std::to_string(total_s) + "s";
}

}  // namespace gpl
