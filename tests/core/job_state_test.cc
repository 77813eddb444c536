#include "gpl/core/job_state.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

using namespace gpl;

namespace {

constexpr Instant now{5'000};
constexpr AttemptId attempt{3};

// Events of the table below.
struct Stage {};
struct Run {};
using Event = std::variant<Stage, Run, Outcome>;

Result<JobState> apply(const JobState& state, const Event& event) {
  if (std::holds_alternative<Stage>(event)) return begin_staging(state);
  if (std::holds_alternative<Run>(event)) return begin_running(state, attempt, now);
  return end(state, std::get<Outcome>(event), now);
}

const std::vector<JobState> states = {Queued{}, Staging{}, Running{attempt, Instant{1}},
                                      Ended{Exited{0}, Instant{2}}};

const std::vector<Event> events = {Stage{},
                                   Run{},
                                   Outcome{Exited{7}},
                                   Outcome{Signalled{9, false}},
                                   Outcome{TimedOut{}},
                                   Outcome{Cancelled{}},
                                   Outcome{FailedToStart{2, 127, "no such command"}},
                                   Outcome{Lost{"power"}}};

const std::vector<std::string> event_names = {
    "staging",           "running",           "ended (exited)",          "ended (signalled)",
    "ended (timed out)", "ended (cancelled)", "ended (failed to start)", "ended (lost)"};

// For each state, what each event leads to: s, r, e, or - where it is refused.
const std::vector<std::string> table = {
    "s----eee",  // queued
    "-r---eee",  // staging
    "--eeee-e",  // running
    "--------",  // ended
};

}  // namespace

TEST_CASE("every pair of state and event leads where the table says") {
  for (std::size_t s = 0; s < states.size(); ++s) {
    for (std::size_t e = 0; e < events.size(); ++e) {
      CAPTURE(name_of(states[s]));
      CAPTURE(event_names[e]);
      const auto next = apply(states[s], events[e]);
      switch (table[s][e]) {
        case 's':
          REQUIRE(next.ok());
          CHECK(next.value() == JobState{Staging{}});
          break;
        case 'r':
          REQUIRE(next.ok());
          CHECK(next.value() == JobState{Running{attempt, now}});
          break;
        case 'e':
          REQUIRE(next.ok());
          CHECK(next.value() == JobState{Ended{std::get<Outcome>(events[e]), now}});
          break;
        default:
          REQUIRE(!next.ok());
          CHECK(next.error().code == Code::invalid);
          CHECK(next.error().message == "a job that is '" + std::string(name_of(states[s])) +
                                            "' cannot become '" + event_names[e] + "'");
      }
    }
  }
}

TEST_CASE("the exit code of run is the command's own, or one that says how it ended") {
  CHECK(exit_status(Exited{0}) == 0);
  CHECK(exit_status(Exited{7}) == 7);
  CHECK(exit_status(Exited{137}) == 137);
  CHECK(exit_status(Signalled{9, false}) == 137);
  CHECK(exit_status(Signalled{11, true}) == 139);
  CHECK(exit_status(TimedOut{}) == 124);
  CHECK(exit_status(Cancelled{}) == 130);
  CHECK(exit_status(FailedToStart{13, 126, ""}) == 126);
  CHECK(exit_status(FailedToStart{2, 127, ""}) == 127);
  CHECK(exit_status(FailedToStart{28, 125, ""}) == 125);
  CHECK(exit_status(Lost{"its peer is gone"}) == 125);
}

TEST_CASE("an exit with 137 and a SIGKILL are different outcomes") {
  CHECK(Outcome{Exited{137}} != Outcome{Signalled{9, false}});
}

TEST_CASE("ids of a kind are ordered by number") {
  CHECK(JobId{1} < JobId{2});
  CHECK(JobId{2} == JobId{2});
}
