#include "gpl/core/job.h"

#include <doctest/doctest.h>

#include <string>

using gpl::JobSpec;
using gpl::validate;

namespace {

JobSpec runnable() {
  JobSpec spec;
  spec.command = {"python", "train.py"};
  return spec;
}

std::string refusal_of(const JobSpec& spec) {
  const auto status = validate(spec);
  if (status.ok()) return "accepted";
  CHECK(status.error().code == gpl::Code::invalid);
  return status.error().message;
}

const std::string with_nul("ab\0c", 4);

}  // namespace

TEST_CASE("a command alone is a valid job") { CHECK(refusal_of(runnable()) == "accepted"); }

TEST_CASE("a job with all that can be asked is valid") {
  JobSpec spec = runnable();
  spec.command.push_back("");  // an empty argument is a good one
  spec.name = "tr\xc3\xa4in";
  spec.env = {{"A", ""}, {"A", "b=c\n"}, {"not an identifier", "x"}};
  spec.stage = {"/data", "../up"};
  spec.outputs = {"*.pt", "./a/..b/c..", "dir/"};
  spec.pass_stdin = true;
  spec.time_limit = gpl::seconds(1);
  CHECK(refusal_of(spec) == "accepted");
}

TEST_CASE("a job without a command is refused") {
  JobSpec spec;
  CHECK(refusal_of(spec) == "there is no command to run");
  spec.command = {"", "x"};
  CHECK(refusal_of(spec) == "the command's first word is empty");
}

TEST_CASE("a NUL byte is refused in every string, by field") {
  JobSpec spec = runnable();
  spec.command.push_back(with_nul);
  CHECK(refusal_of(spec) == "command: a NUL byte follows 'ab'");
  spec = runnable();
  spec.name = with_nul;
  CHECK(refusal_of(spec) == "name: a control character cannot be part of a job's name");
  spec = runnable();
  spec.env = {{with_nul, "v"}};
  CHECK(refusal_of(spec) == "env: a NUL byte in the name, after 'ab'");
  spec.env = {{"K", with_nul}};
  CHECK(refusal_of(spec) == "env: a NUL byte in the value of 'K'");
  spec = runnable();
  spec.stage = {with_nul};
  CHECK(refusal_of(spec) == "stage: a NUL byte follows 'ab'");
  spec = runnable();
  spec.outputs = {with_nul};
  CHECK(refusal_of(spec) == "out: a NUL byte follows 'ab'");
}

TEST_CASE("a control character in a name is refused, since it would break a listing") {
  JobSpec spec = runnable();
  spec.name = "a\nb";
  CHECK(refusal_of(spec) == "name: a control character cannot be part of a job's name");
}

TEST_CASE("a variable whose name no environment can hold is refused") {
  JobSpec spec = runnable();
  spec.env = {{"GOOD", "v"}, {"", "v"}};
  CHECK(refusal_of(spec) == "env: a variable without a name (its value is 'v')");
  spec.env = {{"A=B", "v"}};
  CHECK(refusal_of(spec) == "env: 'A=B' cannot be a name: it contains '='");
}

TEST_CASE("staging something and staging nothing exclude each other") {
  JobSpec spec = runnable();
  spec.staging = gpl::StagingMode::none;
  CHECK(refusal_of(spec) == "accepted");
  spec.stage = {"data"};
  CHECK(refusal_of(spec) ==
        "stage: 'data' cannot be staged, since no-stage asks for nothing to be: drop one of the "
        "two");
}

TEST_CASE("an empty path to stage is refused") {
  JobSpec spec = runnable();
  spec.stage = {"a", ""};
  CHECK(refusal_of(spec) == "stage: an empty path");
}

TEST_CASE("a pattern of results that is empty, absolute or climbs is refused") {
  JobSpec spec = runnable();
  spec.outputs = {"a", ""};
  CHECK(refusal_of(spec) == "out: an empty pattern");
  spec.outputs = {"/etc/*"};
  CHECK(refusal_of(spec) ==
        "out: '/etc/*' is absolute: results are named relative to the job's directory");
  for (const char* pattern : {"..", "../x", "a/../b", "a/.."}) {
    CAPTURE(pattern);
    spec.outputs = {pattern};
    CHECK(refusal_of(spec) ==
          "out: '" + std::string(pattern) + "' leads out of the job's directory: drop the '..'");
  }
}

TEST_CASE("a time limit of nothing is refused") {
  JobSpec spec = runnable();
  spec.time_limit = gpl::Duration{};
  CHECK(refusal_of(spec) == "time limit: it must be more than zero");
}
