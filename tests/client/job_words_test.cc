#include "gpl/client/job_words.h"

#include <doctest/doctest.h>

#include <csignal>

#include "gpl/core/requirement_text.h"

using namespace gpl;
using namespace gpl::client;

namespace {

wire::JobSummary in_state(const std::string& state) {
  wire::JobSummary job;
  job.id = JobId{12};
  job.state = state;
  return job;
}

}  // namespace

TEST_CASE("how a job ended is told whole") {
  CHECK(outcome_words(Exited{3}) == "exited 3");
  CHECK(outcome_words(Signalled{SIGKILL, false}) == "killed by signal 9 (SIGKILL)");
  CHECK(outcome_words(Signalled{SIGSEGV, true}) == "killed by signal 11 (SIGSEGV), core dumped");
  CHECK(outcome_words(TimedOut{0}) == "time limit reached");
  CHECK(outcome_words(Cancelled{0}) == "cancelled");
  CHECK(outcome_words(Cancelled{SIGTERM}) == "cancelled (by signal 15 (SIGTERM))");
  CHECK(outcome_words(Lost{"its keeper died"}) == "lost: its keeper died");
  CHECK(outcome_words(FailedToStart{2, 127, "x: not\nfound"}) == "failed to start: x: not?found");
}

TEST_CASE("a job that ignored SIGTERM is told by the signal that ended it") {
  CHECK(outcome_words(Cancelled{SIGKILL}) ==
        "cancelled (killed by signal 9 (SIGKILL): it did not end within 10 s of SIGTERM)");
  CHECK(outcome_words(TimedOut{SIGKILL}) ==
        "time limit reached (killed by signal 9 (SIGKILL): it did not end within 10 s of SIGTERM)");
}

TEST_CASE("a signal without a name is told by number") {
  CHECK(signal_words(15) == "signal 15 (SIGTERM)");
  CHECK(signal_words(40) == "signal 40");
  CHECK(outcome_in_short(Signalled{40, false}) == "signal 40");
}

TEST_CASE("a place in the queue is an ordinal") {
  CHECK(ordinal(1) == "1st");
  CHECK(ordinal(2) == "2nd");
  CHECK(ordinal(3) == "3rd");
  CHECK(ordinal(4) == "4th");
  CHECK(ordinal(10) == "10th");
  CHECK(ordinal(11) == "11th");
  CHECK(ordinal(12) == "12th");
  CHECK(ordinal(13) == "13th");
  CHECK(ordinal(21) == "21st");
  CHECK(ordinal(111) == "111th");
  CHECK(ordinal(1002) == "1002nd");
}

TEST_CASE("a state says its place in the queue, and how far several tasks are") {
  wire::JobSummary queued = in_state("queued");
  CHECK(state_words(queued) == "queued");
  queued.position = 2;
  CHECK(state_words(queued) == "queued (2nd)");
  wire::JobSummary running = in_state("running");
  CHECK(state_words(running) == "running");
  running.tasks = 100;
  running.succeeded = 35;
  running.failed = 2;
  CHECK(state_words(running) == "running 37/100 (2 failed)");
}

TEST_CASE("an end is a word or two, and tells how many of several tasks failed") {
  wire::JobSummary ended = in_state("ended");
  ended.outcome = Exited{3};
  CHECK(state_words(ended) == "ended 3");
  ended.tasks = 100;
  ended.failed = 2;
  CHECK(state_words(ended) == "ended 3 (2 of 100 failed)");
  ended.outcome = Signalled{SIGKILL, false};
  ended.tasks = ended.failed = 1;
  CHECK(state_words(ended) == "SIGKILL");
}

TEST_CASE("what a job asks for is one line") {
  CHECK(requirement_words({}) == "");
  RequirementText text;
  text.gpus = "2";
  text.gpu = "cuda";
  text.gpu_memory = "16Gi";
  text.cpus = "4";
  text.memory = "8Gi";
  text.frameworks = {"torch>=2.1"};
  text.on = "lab2";
  text.labels = {"disk=fast"};
  const Result<Requirement> asked = parse_requirement(text);
  REQUIRE(asked.ok());
  CHECK(requirement_words(asked.value()) ==
        "2 cuda, 16.0 GiB each, 4 cpus, 8.0 GiB memory, torch >=2.1, on lab2, disk=fast");
}

TEST_CASE("kept files are named with their date and the way to them") {
  wire::JobSummary job = in_state("ended");
  CHECK(kept_words(job) == "");
  job.kept_files = 1;
  CHECK(kept_words(job) == "1 file kept: gpl get 12");
  job.kept_files = 2;
  job.kept_until = Instant{1'796'644'800'000};  // noon of 2026-12-07, UTC
  CHECK(kept_words(job) == "2 files kept until " + local_date(*job.kept_until) + ": gpl get 12");
  CHECK(local_date(*job.kept_until).size() == 10);
  CHECK(local_time(*job.kept_until).starts_with(local_date(*job.kept_until) + " "));
}
