#include "gpl/core/job_state.h"

#include <utility>

#include "gpl/core/overloaded.h"

namespace gpl {
namespace {

Error refused(const JobState& from, const std::string& to) {
  return Error{Code::invalid,
               "a job that is '" + std::string(name_of(from)) + "' cannot become '" + to + "'"};
}

bool is_possible_before_running(const Outcome& outcome) {
  return std::visit(
      Overloaded{[](const Exited&) { return false; }, [](const Signalled&) { return false; },
                 [](const TimedOut&) { return false; }, [](const Cancelled&) { return true; },
                 [](const FailedToStart&) { return true; }, [](const Lost&) { return true; }},
      outcome);
}

bool can_end_with(const JobState& state, const Outcome& outcome) {
  return std::visit(
      Overloaded{[&](const Queued&) { return is_possible_before_running(outcome); },
                 [&](const Staging&) { return is_possible_before_running(outcome); },
                 [&](const Running&) { return !std::holds_alternative<FailedToStart>(outcome); },
                 [](const Ended&) { return false; }},
      state);
}

}  // namespace

std::string_view name_of(const JobState& state) {
  using Name = std::string_view;
  return std::visit(Overloaded{[](const Queued&) -> Name { return "queued"; },
                               [](const Staging&) -> Name { return "staging"; },
                               [](const Running&) -> Name { return "running"; },
                               [](const Ended&) -> Name { return "ended"; }},
                    state);
}

std::string_view name_of(const Outcome& outcome) {
  using Name = std::string_view;
  return std::visit(Overloaded{[](const Exited&) -> Name { return "exited"; },
                               [](const Signalled&) -> Name { return "signalled"; },
                               [](const TimedOut&) -> Name { return "timed out"; },
                               [](const Cancelled&) -> Name { return "cancelled"; },
                               [](const FailedToStart&) -> Name { return "failed to start"; },
                               [](const Lost&) -> Name { return "lost"; }},
                    outcome);
}

Result<JobState> begin_staging(const JobState& state) {
  if (!std::holds_alternative<Queued>(state)) return refused(state, "staging");
  return JobState{Staging{}};
}

Result<JobState> begin_running(const JobState& state, AttemptId attempt, Instant since) {
  if (!std::holds_alternative<Staging>(state)) return refused(state, "running");
  return JobState{Running{attempt, since}};
}

Result<JobState> end(const JobState& state, Outcome outcome, Instant at) {
  if (!can_end_with(state, outcome))
    return refused(state, "ended (" + std::string(name_of(outcome)) + ")");
  return JobState{Ended{std::move(outcome), at}};
}

int exit_status(const Outcome& outcome) {
  return std::visit(
      Overloaded{[](const Exited& exited) { return exited.code; },
                 [](const Signalled& signalled) { return 128 + signalled.signal; },
                 [](const TimedOut&) { return 124; }, [](const Cancelled&) { return 130; },
                 [](const FailedToStart& failed) { return failed.exit; },
                 [](const Lost&) { return 125; }},
      outcome);
}

Cancelled cancelled_by(const Outcome& outcome) {
  const auto none = [](const auto&) { return 0; };
  return {std::visit(Overloaded{[](const Signalled& signalled) { return signalled.signal; },
                                [](const TimedOut& timed_out) { return timed_out.signal; },
                                [](const Cancelled& cancelled) { return cancelled.signal; },
                                [&](const Exited& exited) { return none(exited); },
                                [&](const FailedToStart& failed) { return none(failed); },
                                [&](const Lost& lost) { return none(lost); }},
                     outcome)};
}

Status validate(const Outcome& outcome) {
  const auto* exited = std::get_if<Exited>(&outcome);
  if (exited != nullptr && (exited->code < 0 || exited->code > 255))
    return Error{Code::invalid, "no exit code: " + std::to_string(exited->code)};
  const auto* signalled = std::get_if<Signalled>(&outcome);
  if (signalled != nullptr && (signalled->signal < 1 || signalled->signal > 127))
    return Error{Code::invalid, "no signal: " + std::to_string(signalled->signal)};
  const auto* timed_out = std::get_if<TimedOut>(&outcome);
  const auto* cancelled = std::get_if<Cancelled>(&outcome);
  const int ended_by = timed_out != nullptr   ? timed_out->signal
                       : cancelled != nullptr ? cancelled->signal
                                              : 0;
  if (ended_by < 0 || ended_by > 127)
    return Error{Code::invalid, "no signal: " + std::to_string(ended_by)};
  const auto* failed = std::get_if<FailedToStart>(&outcome);
  if (failed != nullptr && (failed->exit < 125 || failed->exit > 127))
    return Error{Code::invalid,
                 "no exit code of what failed to start: " + std::to_string(failed->exit)};
  return success();
}

}  // namespace gpl
