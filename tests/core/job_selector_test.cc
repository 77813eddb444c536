#include "gpl/core/job_selector.h"

#include <doctest/doctest.h>

using namespace gpl;

namespace {

bool takes(const char* text, std::uint64_t job, std::uint64_t newest = 100) {
  const Result<JobSelector> selector = parse_job_selector(text);
  REQUIRE(selector.ok());
  return selector.value().takes(JobId{job}, JobId{newest});
}

}  // namespace

TEST_CASE("a number means that job alone") {
  CHECK(takes("5", 5));
  CHECK_FALSE(takes("5", 4));
  CHECK_FALSE(takes("5", 55));
}

TEST_CASE("ranges are inclusive and lists add up") {
  for (const std::uint64_t job : {1UL, 2UL, 3UL, 8UL}) CHECK(takes("1-3,8", job));
  for (const std::uint64_t job : {4UL, 7UL, 9UL}) CHECK_FALSE(takes("1-3,8", job));
}

TEST_CASE("last is the newest of those to choose from, all is every one") {
  CHECK(takes("last", 7, 7));
  CHECK_FALSE(takes("last", 6, 7));
  CHECK(takes("all", 1));
}

TEST_CASE("a task belongs to its job") {
  const Result<JobSelector> selector = parse_job_selector("5.17");
  REQUIRE(selector.ok());
  CHECK(selector.value().ranges.at(0) == JobSelector::Range{{5}, {5}, TaskId{17}});
  CHECK(takes("5.0", 5));
}

TEST_CASE("what names no job is refused with the text") {
  for (const char* text : {"", "0", "x", "-3", "3-", "3-1", "1,,2", "1,", "5.x", "1-2.3", " 1",
                           "+1", "18446744073709551616", "last,1", "LAST"}) {
    CAPTURE(text);
    const Result<JobSelector> selector = parse_job_selector(text);
    REQUIRE_FALSE(selector.ok());
    CHECK(selector.error().code == Code::invalid);
    CHECK(selector.error().message.find(text) != std::string::npos);
  }
}
