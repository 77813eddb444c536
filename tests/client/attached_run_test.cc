#include "gpl/client/attached_run.h"

#include <doctest/doctest.h>

#include <cerrno>
#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "fake_runner.h"

using namespace gpl;
using client::AttachedRun;
using host::AllGone;
using host::FirstProcessEnded;
using host::GuardLost;
using host::RunnerEvent;
using host::SpawnFailed;
using host::SpawnFailure;
using host::Started;

namespace {

using Lines = std::vector<std::string>;

constexpr Instant start{1'000'000};

FirstProcessEnded exited(int code) { return {code << 8, 1, 2, 3}; }
FirstProcessEnded killed(int signal_number, bool core = false) {
  return {signal_number | (core ? 0x80 : 0), 1, 2, 3};
}

Lines lines_of(AttachedRun& run) {
  Lines lines;
  for (const AttachedRun::Words& words : run.take_words()) lines.push_back(words.line);
  return lines;
}

/// A run of "prog" with a grace of 5 s over a runner that records.
struct Fixture {
  explicit Fixture(std::optional<Duration> limit = std::nullopt)
      : run(runner, {"prog", limit, seconds(5)}) {}

  /// The events at `start`, by way of the runner.
  void give(const std::vector<RunnerEvent>& events, Instant now = start) {
    for (const RunnerEvent& event : events) runner.will_give(event);
    for (const RunnerEvent& event : runner.take_events()) run.on_event(event, now);
  }
  /// Nothing was asked of the runner, and nothing said, since it was last looked at.
  bool silent() { return runner.take_calls().empty() && lines_of(run).empty(); }

  FakeRunner runner;
  AttachedRun run;
};

}  // namespace

TEST_CASE("a run passes on the exit code of its command and says nothing") {
  for (const int code : {0, 1, 124, 125, 130, 255}) {
    Fixture f;
    f.give({Started{7}});
    CHECK_FALSE(f.run.ended());
    CHECK_FALSE(f.run.wake_at().has_value());
    f.give({exited(code)});
    CHECK(f.run.ended());
    CHECK_FALSE(f.run.over());
    f.give({AllGone{}});
    CHECK(f.run.over());
    CHECK(f.run.outcome() == Outcome{Exited{code}});
    CHECK(f.run.exit_status() == code);
    CHECK(f.silent());
  }
}

TEST_CASE("a command that a signal ended gives 128 and its number") {
  Fixture f;
  f.give({Started{7}, killed(SIGSEGV, true), AllGone{}});
  CHECK(f.run.outcome() == Outcome{Signalled{SIGSEGV, true}});
  CHECK(f.run.exit_status() == 128 + SIGSEGV);
  CHECK(f.silent());
}

TEST_CASE("the usage is that of the command") {
  Fixture f;
  f.give({Started{7}, FirstProcessEnded{0, 11, 22, 33}, AllGone{}});
  CHECK(f.run.usage().user_us == 11);
  CHECK(f.run.usage().system_us == 22);
  CHECK(f.run.usage().max_rss_kib == 33);
}

TEST_CASE("a command that was not found is 127, and the words name it") {
  Fixture f;
  f.give({SpawnFailed{{ENOENT, 127}}});
  CHECK(f.run.ended());
  CHECK(f.run.over());
  CHECK(f.run.exit_status() == 127);
  CHECK(lines_of(f.run) == Lines{"prog: command not found on the job's PATH"});
  CHECK(std::get<FailedToStart>(f.run.outcome()).errno_value == ENOENT);
  CHECK(f.silent());
}

TEST_CASE("the words about a path that is not there do not speak of PATH") {
  FakeRunner runner;
  AttachedRun run(runner, {"./prog", std::nullopt, seconds(5)});
  run.on_event(SpawnFailed{{ENOENT, 127}}, start);
  CHECK(lines_of(run) == Lines{"./prog: No such file or directory"});
  CHECK(run.exit_status() == 127);
}

TEST_CASE("a command that cannot be executed is 126, and the words say why") {
  Fixture denied;
  denied.give({SpawnFailed{{EACCES, 126}}});
  CHECK(denied.run.exit_status() == 126);
  CHECK(lines_of(denied.run) == Lines{"prog: cannot be run: Permission denied"});

  Fixture interpreter;
  interpreter.give({SpawnFailed{{ENOENT, 126}}});
  CHECK(interpreter.run.exit_status() == 126);
  const Lines words = lines_of(interpreter.run);
  REQUIRE(words.size() == 1);
  CHECK(words[0].starts_with("prog: "));
  CHECK(words[0].find("interpreter") != std::string::npos);

  Fixture too_long;
  too_long.give({SpawnFailed{{E2BIG, 126}}});
  CHECK(too_long.run.exit_status() == 126);
  CHECK(lines_of(too_long.run) == Lines{"prog: cannot be run: Argument list too long"});
}

TEST_CASE("a process that could not be made is 125") {
  Fixture f;
  f.give({SpawnFailed{{EAGAIN, 125}}});
  CHECK(f.run.exit_status() == 125);
  CHECK(lines_of(f.run).size() == 1);
}

TEST_CASE("the time limit counts from the start of the command") {
  Fixture f(seconds(60));
  CHECK_FALSE(f.run.wake_at().has_value());
  f.run.tick(start + seconds(3600));
  f.give({Started{7}}, start + seconds(10));
  CHECK(f.run.wake_at() == std::optional<Instant>(start + seconds(70)));
  f.run.tick(start + milliseconds(69'999));
  CHECK(f.silent());
}

TEST_CASE("a reached time limit ends the job, says so once, and is 124") {
  Fixture f(seconds(60));
  f.give({Started{7}});
  f.run.tick(start + seconds(60));
  CHECK(f.runner.take_calls() == Lines{"end 5000"});
  const Lines words = lines_of(f.run);
  REQUIRE(words.size() == 1);
  CHECK(words[0].find("time limit of 1m ") != std::string::npos);
  CHECK_FALSE(f.run.wake_at().has_value());
  f.run.tick(start + seconds(61));
  CHECK_FALSE(f.run.ended());
  f.give({killed(SIGTERM), AllGone{}});
  CHECK(f.run.outcome() == Outcome{TimedOut{}});
  CHECK(f.run.exit_status() == 124);
  CHECK(f.silent());
}

TEST_CASE("a time limit is 124 even when the job then exits with 0") {
  Fixture f(seconds(60));
  f.give({Started{7}});
  f.run.tick(start + seconds(60));
  f.give({exited(0), AllGone{}});
  CHECK(f.run.exit_status() == 124);
}

TEST_CASE("a time limit has no effect once the command has ended") {
  Fixture f(seconds(60));
  f.give({Started{7}, exited(3)});
  CHECK_FALSE(f.run.wake_at().has_value());
  f.run.tick(start + seconds(3600));
  f.give({AllGone{}});
  CHECK(f.run.exit_status() == 3);
  CHECK(f.silent());
}

TEST_CASE("the first interrupt goes to the job, which decides about its exit") {
  Fixture f;
  f.give({Started{7}});
  f.run.on_signal(SIGINT);
  CHECK(f.runner.take_calls() == Lines{"signal 2"});
  f.give({exited(5), AllGone{}});
  CHECK(f.run.outcome() == Outcome{Exited{5}});
  CHECK(f.run.exit_status() == 5);
  CHECK(f.silent());
}

TEST_CASE("a job that dies of the first interrupt is 130 as in a shell") {
  Fixture f;
  f.give({Started{7}});
  f.run.on_signal(SIGINT);
  f.give({killed(SIGINT), AllGone{}});
  CHECK(f.run.exit_status() == 130);
}

TEST_CASE("the second interrupt kills, and is 130 however the job ends") {
  for (const FirstProcessEnded& end : {exited(0), killed(SIGKILL)}) {
    Fixture f;
    f.give({Started{7}});
    f.run.on_signal(SIGINT);
    f.run.on_signal(SIGINT);
    CHECK(f.runner.take_calls() == Lines{"signal 2", "end 0"});
    f.give({end, AllGone{}});
    CHECK(f.run.outcome() == Outcome{Cancelled{}});
    CHECK(f.run.exit_status() == 130);
    CHECK(f.silent());
  }
}

TEST_CASE("a second interrupt after the time limit is 130") {
  Fixture f(seconds(60));
  f.give({Started{7}});
  f.run.tick(start + seconds(60));
  f.run.on_signal(SIGINT);
  f.run.on_signal(SIGINT);
  CHECK(f.runner.take_calls() == Lines{"end 5000", "signal 2", "end 0"});
  f.give({killed(SIGKILL), AllGone{}});
  CHECK(f.run.exit_status() == 130);
}

TEST_CASE("TERM and other signals are passed on every time and never escalate") {
  for (const int number : {SIGTERM, SIGQUIT, SIGUSR1}) {
    Fixture f;
    f.give({Started{7}});
    for (int i = 0; i < 3; ++i) f.run.on_signal(number);
    CHECK(f.runner.take_calls() == Lines(3, "signal " + std::to_string(number)));
    f.give({exited(9), AllGone{}});
    CHECK(f.run.exit_status() == 9);
    CHECK(f.silent());
  }
}

TEST_CASE("a TERM between two interrupts does not hide the second") {
  Fixture f;
  f.give({Started{7}});
  f.run.on_signal(SIGINT);
  f.run.on_signal(SIGTERM);
  f.run.on_signal(SIGINT);
  CHECK(f.runner.take_calls() == Lines{"signal 2", "signal 15", "end 0"});
}

TEST_CASE("a hangup ends the job and is 129") {
  Fixture f;
  f.give({Started{7}});
  f.run.on_signal(SIGHUP);
  CHECK(f.runner.take_calls() == Lines{"end 5000"});
  f.give({exited(0), AllGone{}});
  CHECK(f.run.exit_status() == 129);
  CHECK(f.silent());
}

TEST_CASE("the reader that is gone ends the job once, and is 141") {
  Fixture f;
  f.give({Started{7}});
  f.run.on_reader_gone();
  f.run.on_reader_gone();
  CHECK(f.runner.take_calls() == Lines{"end 5000"});
  f.give({exited(0), AllGone{}});
  CHECK(f.run.exit_status() == 141);
  CHECK(f.silent());
}

TEST_CASE("a reader that goes when the command has ended is 141, with nothing left to end") {
  Fixture f;
  f.give({Started{7}, exited(0)});
  f.run.on_reader_gone();
  CHECK(f.silent());
  f.give({AllGone{}});
  CHECK(f.run.exit_status() == 141);
}

TEST_CASE("a reader that goes while the last bytes are delivered is 141") {
  Fixture f;
  f.give({Started{7}, exited(0), AllGone{}});
  f.run.on_reader_gone();
  CHECK(f.run.exit_status() == 141);
  CHECK(f.silent());
}

TEST_CASE("output that is lost through gpl's own failure ends the job and is 125") {
  Fixture f;
  f.give({Started{7}});
  f.run.on_output_lost();
  f.run.on_output_lost();
  CHECK(f.runner.take_calls() == Lines{"end 5000"});
  f.give({exited(0), AllGone{}});
  CHECK(f.run.exit_status() == 125);
  CHECK(f.silent());
}

TEST_CASE("output that is lost after the end is 125 too: a 0 would claim that all was delivered") {
  Fixture f;
  f.give({Started{7}, exited(0), AllGone{}});
  f.run.on_output_lost();
  CHECK(f.run.exit_status() == 125);
  CHECK(f.silent());
}

TEST_CASE("the first reason for an exit of gpl's own counts") {
  Fixture f;
  f.give({Started{7}});
  f.run.on_signal(SIGHUP);
  f.run.on_reader_gone();
  f.run.on_output_lost();
  CHECK(f.runner.take_calls() == Lines{"end 5000"});
  f.give({killed(SIGTERM), AllGone{}});
  CHECK(f.run.exit_status() == 129);
}

TEST_CASE("a guard that is killed before the command has ended is 125, and said") {
  Fixture f;
  f.give({Started{7}, GuardLost{}});
  CHECK(f.run.over());
  CHECK(std::holds_alternative<Lost>(f.run.outcome()));
  CHECK(f.run.exit_status() == 125);
  const Lines words = lines_of(f.run);
  REQUIRE(words.size() == 1);
  CHECK(words[0].find("guard") != std::string::npos);
  CHECK(f.silent());
}

TEST_CASE("a guard that is killed before the command has started is 125") {
  Fixture f;
  f.give({GuardLost{}});
  CHECK(f.run.exit_status() == 125);
  CHECK(lines_of(f.run).size() == 1);
}

TEST_CASE("a guard that is killed after the command has ended changes nothing") {
  Fixture f;
  f.give({Started{7}, exited(3), GuardLost{}});
  CHECK(f.run.over());
  CHECK(f.run.outcome() == Outcome{Exited{3}});
  CHECK(f.run.exit_status() == 3);
  CHECK(f.silent());
}

TEST_CASE("processes that could not be ended are said, and the exit stays") {
  Fixture f;
  f.give({Started{7}, exited(3), AllGone{2}});
  CHECK(f.run.exit_status() == 3);
  const Lines words = lines_of(f.run);
  REQUIRE(words.size() == 1);
  CHECK(words[0].starts_with("2 of the job's processes could not be ended"));
  CHECK(f.silent());
}

TEST_CASE("an attempt whose first process could not be ended either is settled") {
  Fixture timed_out(seconds(60));
  timed_out.give({Started{7}});
  timed_out.run.tick(start + seconds(60));
  timed_out.give({AllGone{1}});
  CHECK(timed_out.run.exit_status() == 124);

  Fixture lost;
  lost.give({Started{7}, AllGone{1}});
  CHECK(lost.run.exit_status() == 125);
}

TEST_CASE("signals and time have no effect once it is over") {
  Fixture f(seconds(60));
  f.give({Started{7}, exited(3), AllGone{}});
  for (const int number : {SIGINT, SIGINT, SIGTERM, SIGHUP}) f.run.on_signal(number);
  f.run.tick(start + seconds(3600));
  CHECK(f.run.exit_status() == 3);
  CHECK(f.silent());
}

TEST_CASE("words are given once") {
  Fixture f;
  f.give({SpawnFailed{{ENOENT, 127}}});
  CHECK(lines_of(f.run).size() == 1);
  CHECK(lines_of(f.run).empty());
}

TEST_CASE("what goes wrong is told apart from what is good to know") {
  Fixture failed;
  failed.give({SpawnFailed{{ENOENT, 127}}});
  CHECK(failed.run.take_words().at(0).trouble);

  Fixture limited(seconds(1));
  limited.give({Started{1}});
  limited.run.tick(start + seconds(1));
  CHECK_FALSE(limited.run.take_words().at(0).trouble);
}
