#include "gpl/core/lending_hours.h"

#include <algorithm>
#include <cassert>
#include <cstddef>

#include "gpl/core/ascii.h"
#include "word_list.h"

namespace gpl {
namespace {

/// Nobody writes more; what a peer says when it is closed names all of them.
constexpr std::size_t most_times = 24;

/// Takes the text piece by piece, and knows where it is.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  void pass_whitespace() {
    while (at_ < text_.size() && is_whitespace(text_[at_])) ++at_;
  }
  bool at_end() const { return at_ == text_.size(); }
  bool take(char c) {
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  /// Requires a number that fits: two digits do.
  std::optional<int> take_number(std::size_t fewest_digits) {
    std::size_t end = at_;
    int number = 0;
    while (end < text_.size() && end < at_ + 2 && is_digit(text_[end]))
      number = number * 10 + (text_[end++] - '0');
    if (end - at_ < fewest_digits) return std::nullopt;
    at_ = end;
    return number;
  }
  std::size_t place() const { return at_; }
  Error refused(std::string_view why, std::size_t at) const {
    return Error{Code::invalid, in_quotes(text_) + " is not a list of hours: " + std::string(why) +
                                    ", at column " + std::to_string(at + 1) +
                                    "; write 20:00-08:00, and several with commas between"};
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

Result<int> take_time(Scanner& in) {
  in.pass_whitespace();
  const std::size_t start = in.place();
  const std::optional<int> hour = in.take_number(1);
  if (!hour) return in.refused("expected a time such as 08:00", start);
  if (!in.take(':')) return in.refused("expected ':' and minutes", in.place());
  const std::size_t minute_at = in.place();
  const std::optional<int> minute = in.take_number(2);
  if (!minute) return in.refused("expected two digits of minutes", minute_at);
  if (*minute > 59) return in.refused("there is no such minute", minute_at);
  if (*hour > 24 || (*hour == 24 && *minute > 0)) return in.refused("there is no such hour", start);
  return *hour * 60 + *minute;
}

Result<DayTimes> take_times(Scanner& in) {
  in.pass_whitespace();
  const std::size_t start = in.place();
  const Result<int> begin = take_time(in);
  if (!begin.ok()) return begin.error();
  if (begin.value() == minutes_of_day) return in.refused("a day begins at 00:00", start);
  in.pass_whitespace();
  if (!in.take('-')) return in.refused("expected '-' and when it ends", in.place());
  in.pass_whitespace();
  const std::size_t end_at = in.place();
  const Result<int> end = take_time(in);
  if (!end.ok()) return end.error();
  if (end.value() == begin.value())
    return in.refused("it ends as it begins; 00:00-24:00 is a whole day", end_at);
  return DayTimes{begin.value(), end.value() == 0 ? minutes_of_day : end.value()};
}

std::string two_digits(int number) { return (number < 10 ? "0" : "") + std::to_string(number); }
std::string time_of(int minute) { return two_digits(minute / 60) + ":" + two_digits(minute % 60); }

bool contains(const DayTimes& times, int minute) {
  if (times.begin < times.end) return times.begin <= minute && minute < times.end;
  return times.begin <= minute || minute < times.end;
}

}  // namespace

Result<LendingHours> parse_lending_hours(std::string_view text) {
  Scanner in(text);
  LendingHours hours;
  for (;;) {
    if (hours.times.size() == most_times)
      return in.refused("there are more than " + std::to_string(most_times), in.place());
    const Result<DayTimes> times = take_times(in);
    if (!times.ok()) return times.error();
    hours.times.push_back(times.value());
    in.pass_whitespace();
    if (in.at_end()) return hours;
    if (!in.take(',')) return in.refused("expected ',' or the end", in.place());
  }
}

std::string to_string(const LendingHours& hours) {
  std::vector<std::string> parts;
  for (const DayTimes& times : hours.times)
    parts.push_back(time_of(times.begin) + "-" + time_of(times.end));
  return joined(parts, ",");
}

std::string in_words(const LendingHours& hours) {
  assert(!hours.times.empty());
  std::vector<std::string> parts;
  for (const DayTimes& times : hours.times)
    parts.push_back("from " + time_of(times.begin) + " to " + time_of(times.end));
  return in_words(parts);
}

bool is_open(const LendingHours& hours, int minute) {
  assert(0 <= minute && minute < minutes_of_day);
  return hours.times.empty() ||
         std::any_of(hours.times.begin(), hours.times.end(),
                     [&](const DayTimes& times) { return contains(times, minute); });
}

std::optional<int> minutes_to_change(const LendingHours& hours, int minute) {
  const bool now = is_open(hours, minute);
  for (int wait = 1; wait < minutes_of_day; ++wait) {
    if (is_open(hours, (minute + wait) % minutes_of_day) != now) return wait;
  }
  return std::nullopt;
}

}  // namespace gpl
