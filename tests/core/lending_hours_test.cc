#include "gpl/core/lending_hours.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

using gpl::Code;
using gpl::DayTimes;
using gpl::LendingHours;
using gpl::parse_lending_hours;

namespace {

constexpr int at(int hour, int minute = 0) { return hour * 60 + minute; }

LendingHours hours_of(const std::string& text) {
  const auto hours = parse_lending_hours(text);
  REQUIRE_MESSAGE(hours.ok(), text);
  return hours.value();
}

std::string refusal_of(const std::string& text) {
  const auto hours = parse_lending_hours(text);
  REQUIRE_MESSAGE(!hours.ok(), text);
  CHECK(hours.error().code == Code::invalid);
  const std::string start = "'" + text + "' is not a list of hours: ";
  const std::string end = "; write 20:00-08:00, and several with commas between";
  const std::string& message = hours.error().message;
  REQUIRE(message.starts_with(start));
  REQUIRE(message.ends_with(end));
  return message.substr(start.size(), message.size() - start.size() - end.size());
}

}  // namespace

TEST_CASE("hours are read, one range or several") {
  CHECK(hours_of("20:00-08:00").times == std::vector<DayTimes>{{at(20), at(8)}});
  CHECK(hours_of(" 8:05 - 9:10 , 12:00-13:00 ").times ==
        std::vector<DayTimes>{{at(8, 5), at(9, 10)}, {at(12), at(13)}});
}

TEST_CASE("midnight ends a day under either name") {
  CHECK(hours_of("20:00-24:00") == hours_of("20:00-00:00"));
  CHECK(hours_of("00:00-24:00").times == std::vector<DayTimes>{{0, at(24)}});
}

TEST_CASE("what are no hours is refused with the column") {
  CHECK(refusal_of("") == "expected a time such as 08:00, at column 1");
  CHECK(refusal_of("20-8") == "expected ':' and minutes, at column 3");
  CHECK(refusal_of("20:0-8:00") == "expected two digits of minutes, at column 4");
  CHECK(refusal_of("20:60-8:00") == "there is no such minute, at column 4");
  CHECK(refusal_of("25:00-8:00") == "there is no such hour, at column 1");
  CHECK(refusal_of("20:00-24:01") == "there is no such hour, at column 7");
  CHECK(refusal_of("24:00-8:00") == "a day begins at 00:00, at column 1");
  CHECK(refusal_of("20:00") == "expected '-' and when it ends, at column 6");
  CHECK(refusal_of("20:00-8:00 21:00") == "expected ',' or the end, at column 12");
  CHECK(refusal_of("20:00-8:00,") == "expected a time such as 08:00, at column 12");
  CHECK(refusal_of("8:00-8:00") == "it ends as it begins; 00:00-24:00 is a whole day, at column 6");
}

TEST_CASE("more ranges than anybody writes are refused") {
  std::string text = "08:00-09:00";
  for (int i = 1; i < 24; ++i) text += ",08:00-09:00";
  CHECK(parse_lending_hours(text).ok());
  CHECK(!parse_lending_hours(text + ",08:00-09:00").ok());
}

TEST_CASE("a range is open from its first minute up to its last") {
  const LendingHours day = hours_of("08:00-17:00");
  CHECK(!is_open(day, at(7, 59)));
  CHECK(is_open(day, at(8)));
  CHECK(is_open(day, at(16, 59)));
  CHECK(!is_open(day, at(17)));
}

TEST_CASE("a range may go over midnight") {
  const LendingHours night = hours_of("20:00-08:00");
  CHECK(!is_open(night, at(19, 59)));
  CHECK(is_open(night, at(20)));
  CHECK(is_open(night, at(0)));
  CHECK(is_open(night, at(7, 59)));
  CHECK(!is_open(night, at(8)));
}

TEST_CASE("without hours a machine lends always") {
  CHECK(is_open(LendingHours{}, at(3)));
  CHECK(!minutes_to_change(LendingHours{}, at(3)));
  CHECK(!minutes_to_change(hours_of("00:00-24:00"), at(3)));
  CHECK(!minutes_to_change(hours_of("08:00-20:00,20:00-08:00"), at(3)));
}

TEST_CASE("the next change is told over midnight and through ranges that touch") {
  const LendingHours night = hours_of("20:00-23:00,22:00-08:00");
  CHECK(minutes_to_change(night, at(19, 59)) == 1);
  CHECK(minutes_to_change(night, at(20)) == at(12));
  CHECK(minutes_to_change(night, at(7, 59)) == 1);
  CHECK(minutes_to_change(night, at(8)) == at(12));
}

TEST_CASE("hours are told in words") {
  CHECK(in_words(hours_of("20:00-08:00")) == "from 20:00 to 08:00");
  CHECK(in_words(hours_of("9:00-10:00,20:00-24:00")) ==
        "from 09:00 to 10:00 and from 20:00 to 24:00");
}

TEST_CASE("law: hours that are written are read back, and change just when it is said") {
  CHECK(rc::check([] {
    LendingHours hours;
    const auto count = *rc::gen::inRange(1, 4);
    for (int i = 0; i < count; ++i) {
      const int begin = *rc::gen::inRange(0, gpl::minutes_of_day);
      const int end = *rc::gen::suchThat(rc::gen::inRange(1, gpl::minutes_of_day + 1),
                                         [&](int minute) { return minute != begin; });
      hours.times.push_back({begin, end});
    }
    const auto read = parse_lending_hours(to_string(hours));
    RC_ASSERT(read.ok());
    RC_ASSERT(read.value() == hours);
    const int now = *rc::gen::inRange(0, gpl::minutes_of_day);
    const auto change = minutes_to_change(hours, now);
    for (int wait = 0; wait < change.value_or(gpl::minutes_of_day); ++wait)
      RC_ASSERT(is_open(hours, (now + wait) % gpl::minutes_of_day) == is_open(hours, now));
    if (change)
      RC_ASSERT(is_open(hours, (now + *change) % gpl::minutes_of_day) != is_open(hours, now));
  }));
}
