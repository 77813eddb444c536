#include "gpl/core/time.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <string>

using gpl::Duration;
using gpl::format_duration;
using gpl::format_short;
using gpl::milliseconds;
using gpl::parse_duration;
using gpl::seconds;

namespace {

std::int64_t ms_of(const char* text) {
  const auto parsed = parse_duration(text);
  REQUIRE_MESSAGE(parsed.ok(), text);
  return parsed.value().count_ms;
}

std::string refusal_of(const std::string& text) {
  const auto parsed = parse_duration(text);
  REQUIRE_MESSAGE(!parsed.ok(), text);
  CHECK(parsed.error().code == gpl::Code::invalid);
  return parsed.error().message;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a duration is read from units") {
  CHECK(ms_of("90s") == 90'000);
  CHECK(ms_of("10m") == 600'000);
  CHECK(ms_of("1h30m") == 5'400'000);
  CHECK(ms_of("2d") == 172'800'000);
  CHECK(ms_of("250ms") == 250);
  CHECK(ms_of("1d2h3m4s5ms") == 93'784'005);
  CHECK(ms_of("0h5m") == 300'000);
  CHECK(ms_of("36500d") == gpl::longest_duration.count_ms);
}

TEST_CASE("a duration is read from HH:MM:SS") {
  CHECK(ms_of("01:30:05") == 5'405'000);
  CHECK(ms_of("00:00:01") == 1000);
  CHECK(ms_of("0:10:00") == 600'000);
  CHECK(ms_of("100:00:00") == 360'000'000);
}

TEST_CASE("a bare number is refused with the likely unit") {
  CHECK(refusal_of("90") ==
        "'90' is not a duration: a unit is missing (90s?), at column 3; write 90s, 10m, 1h30m or "
        "HH:MM:SS");
}

TEST_CASE("a refused duration names its text and column") {
  struct Row {
    const char* text;
    const char* part;
  };
  const Row rows[] = {{"", "it is empty, at column 1"},
                      {"s", "a number is missing, at column 1"},
                      {"10x", "'x' is not a unit (d h m s ms), at column 3"},
                      {"1h30", "a unit is missing, at column 5"},
                      {"30m1h", "units go from the largest down, each once, at column 5"},
                      {"1m1m", "units go from the largest down, each once, at column 4"},
                      {"-5s", "a number is missing, at column 1"},
                      {"+5s", "a number is missing, at column 1"},
                      {" 5s", "a number is missing, at column 1"},
                      {"5 s", "' s' is not a unit (d h m s ms), at column 2"},
                      {"1.5h", "'.' is not a unit (d h m s ms), at column 2"},
                      {"5S", "'S' is not a unit (d h m s ms), at column 2"},
                      {"10:30", "HH:MM:SS has three parts, at column 6"},
                      {"00:60:00", "minutes and seconds are 00 to 59, at column 4"},
                      {"00:00:60", "minutes and seconds are 00 to 59, at column 7"},
                      {"00:1:00", "minutes and seconds are 00 to 59, at column 4"},
                      {"00:00:00x", "there is more after the seconds, at column 9"},
                      {"1-00:00:00", "':' is missing, at column 2"},
                      {":00:00", "a number is missing, at column 1"},
                      {"00:00:", "a number is missing, at column 7"}};
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const std::string message = refusal_of(row.text);
    CHECK_MESSAGE(contains(message, row.part), message);
    CHECK(contains(message, "'" + std::string(row.text) + "'"));
  }
}

TEST_CASE("no time at all is refused") {
  CHECK(contains(refusal_of("0s"), "'0s' is no time at all"));
  CHECK(contains(refusal_of("0h0m"), "no time at all"));
  CHECK(contains(refusal_of("00:00:00"), "no time at all"));
}

TEST_CASE("a duration beyond the longest is refused, however many digits it has") {
  for (const char* text : {"36501d", "36500d1ms", "99999999999999999999999d", "999999999:00:00",
                           "99999999999999999999999999:00:00", "9223372036854775807ms"}) {
    CAPTURE(text);
    CHECK(contains(refusal_of(text), "too long a duration: the longest is 36500d"));
  }
}

TEST_CASE("law: what format_duration writes, parse_duration reads back exactly") {
  CHECK(rc::check([] {
    const auto ms =
        *rc::gen::oneOf(rc::gen::inRange<std::int64_t>(1, gpl::longest_duration.count_ms + 1),
                        rc::gen::inRange<std::int64_t>(1, 100'000'000));
    const auto parsed = parse_duration(format_duration(milliseconds(ms)));
    RC_ASSERT(parsed.ok());
    RC_ASSERT(parsed.value() == milliseconds(ms));
  }));
}

TEST_CASE("law: any text is read or refused with the text in the message") {
  CHECK(rc::check([] {
    const auto text =
        *rc::gen::container<std::string>(rc::gen::elementOf(std::string("0159:dhms.- ")));
    const auto parsed = parse_duration(text);
    if (parsed.ok()) {
      RC_ASSERT(parsed.value() > Duration{});
      RC_ASSERT(parsed.value() <= gpl::longest_duration);
    } else {
      RC_ASSERT(contains(parsed.error().message, "'" + text + "'"));
    }
  }));
}

TEST_CASE("a duration is written exactly") {
  CHECK(format_duration(Duration{}) == "0s");
  CHECK(format_duration(seconds(90)) == "1m30s");
  CHECK(format_duration(milliseconds(1500)) == "1s500ms");
}

TEST_CASE("a duration is written short for tables") {
  CHECK(format_short(seconds(40)) == "40s");
  CHECK(format_short(milliseconds(59'999)) == "59s");
  CHECK(format_short(seconds(180)) == "3m");
  CHECK(format_short(seconds(3599)) == "59m");
  CHECK(format_short(seconds(4320)) == "1h12m");
  CHECK(format_short(seconds(7200)) == "2h");
  CHECK(format_short(seconds(51 * 3600)) == "2d3h");
  CHECK(format_short(seconds(12 * 86400 + 3600)) == "12d");
  CHECK(format_short(milliseconds(20)) == "0s");
  CHECK(format_short(seconds(-5)) == "0s");
}

TEST_CASE("a point in time and a duration add up") {
  const gpl::Instant start{1'000};
  CHECK(start + seconds(2) == gpl::Instant{3'000});
  CHECK(start + seconds(2) - start == seconds(2));
}
