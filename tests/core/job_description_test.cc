#include "gpl/core/job_description.h"

#include <doctest/doctest.h>

#include <limits>
#include <string>

#include "state_fixture.h"

using namespace gpl;
using namespace gpl::test;

namespace {

std::string why_not(const JobDescription& job) {
  const Status status = validate(job);
  if (status.ok()) return "";
  CHECK(status.error().code == Code::invalid);
  return status.error().message;
}

std::string why_not(JobShape shape) {
  JobDescription job = one_task();
  job.shape = std::move(shape);
  return why_not(job);
}

}  // namespace

TEST_CASE("a description of sane fields is valid") {
  JobDescription job = one_task();
  CHECK(why_not(job) == "");
  job.tree = std::string(32, 'x');
  job.on_loss = OnLoss::retry;
  job.after = {{job1, After::any}};
  CHECK(why_not(job) == "");
}

TEST_CASE("what a job's spec or requirement refuses, its description does") {
  JobDescription job;
  CHECK(why_not(job) == "there is no command to run");
  job = one_task();
  job.requirement.cpus = 0;
  CHECK(why_not(job) == "--cpus: at least 1");
}

TEST_CASE("an array has at least one task and at most 2^32, with numbers below 2^63") {
  constexpr std::uint64_t half = std::uint64_t{1} << 32;
  CHECK(why_not(Array{task(0), 1}) == "");
  CHECK(why_not(Array{tasks(5, half + 4), std::nullopt}) == "");
  CHECK(why_not(Array{tasks(last_task, last_task), std::nullopt}) == "");
  CHECK(why_not(Array{tasks(1, 0), std::nullopt}) ==
        "array: its last task, 0, comes before its first, 1");
  CHECK(why_not(Array{tasks(0, half), std::nullopt}) ==
        "array: 4294967297 tasks, at most 4294967296");
  CHECK(why_not(Array{tasks(0, std::numeric_limits<std::uint64_t>::max()), std::nullopt}) ==
        "array: no task has a number above 9223372036854775807");
}

TEST_CASE("an array that may run nothing at a time is refused") {
  CHECK(why_not(Array{tasks(0, 3), 0}) == "array: a limit of 0 tasks at a time would never begin");
}

TEST_CASE("a gang without nodes and a service without replicas are refused") {
  CHECK(why_not(Gang{0, ""}) == "nodes: at least 1");
  CHECK(why_not(Service{0}) == "replicas: at least 1");
}

TEST_CASE("a lease must be some time, and is judged only where there is one") {
  JobDescription job = one_task();
  job.lease = Duration{};
  CHECK(why_not(job) == "");
  job.on_loss = OnLoss::retry;
  CHECK(why_not(job) == "lease: it must be more than zero and at most 1d");
  job.lease = milliseconds(longest_duration.count_ms + 1);
  CHECK(why_not(job) == "lease: it must be more than zero and at most 1d");
}

TEST_CASE("a time limit that no clock holds is refused") {
  JobDescription job = one_task();
  job.spec.time_limit = milliseconds(longest_duration.count_ms + 1);
  CHECK(why_not(job) == "time limit: at most 36500d");
}

TEST_CASE("a tree is named by 32 bytes") {
  JobDescription job = one_task();
  job.tree = "x";
  CHECK(why_not(job) == "tree: an id of 1 bytes, not 32");
}

TEST_CASE("a job depends on at most 1024 others") {
  JobDescription job = one_task();
  job.after.resize(1024, {job1, After::ok});
  CHECK(why_not(job) == "");
  job.after.push_back({job1, After::ok});
  CHECK(why_not(job) == "after: 1025 jobs, at most 1024");
}

TEST_CASE("the tasks of a shape") {
  CHECK(tasks_of(Single{}) == task(0));
  CHECK(tasks_of(Array{tasks(3, 9), std::nullopt}) == tasks(3, 9));
  CHECK(tasks_of(Gang{4, "torchrun"}) == task(0));
  CHECK(tasks_of(Service{3}) == tasks(0, 2));
}
