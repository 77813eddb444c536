#include "gpl/client/attached_run.h"

#include <cassert>
#include <csignal>
#include <utility>

#include "gpl/core/overloaded.h"
#include "gpl/host/outcome.h"

namespace gpl::client {
AttachedRun::AttachedRun(host::Runner& runner, Options options)
    : runner_(runner), options_(std::move(options)) {}

void AttachedRun::on_signal(int signal_number) {
  if (over_) return;
  if (signal_number == SIGHUP) {
    exit_instead_ = 128 + SIGHUP;
    runner_.end(options_.grace.count_ms);
    return;
  }
  if (signal_number == SIGINT && ++interrupts_ > 1) {
    settle(Cancelled{});
    exit_instead_ = 128 + SIGINT;
    runner_.end(0);
    return;
  }
  runner_.signal(signal_number);
}

void AttachedRun::on_reader_gone() {
  if (exit_instead_) return;
  exit_instead_ = 128 + SIGPIPE;
  if (!ended()) runner_.end(options_.grace.count_ms);
}

void AttachedRun::on_output_lost() {
  if (exit_instead_) return;
  exit_instead_ = 125;
  if (!ended()) runner_.end(options_.grace.count_ms);
}

void AttachedRun::tick(Instant now) {
  if (!limit_at_ || now < *limit_at_ || ended()) return;
  limit_at_.reset();
  settle(TimedOut{});
  words_.push_back({"the time limit of " + format_duration(*options_.time_limit) +
                        " is reached; SIGKILL follows in " + format_duration(options_.grace) +
                        " if it does not end by itself",
                    false});
  runner_.end(options_.grace.count_ms);
}

void AttachedRun::on_event(const host::RunnerEvent& event, Instant now) {
  std::visit(
      Overloaded{[&](const host::Started&) {
                   if (options_.time_limit) limit_at_ = now + *options_.time_limit;
                 },
                 [&](const host::SpawnFailed& failed) {
                   FailedToStart failure = host::failure_of(options_.program, failed.failure);
                   words_.push_back({failure.message, true});
                   outcome_ = std::move(failure);
                   over_ = true;
                 },
                 [&](const host::FirstProcessEnded& ended) {
                   usage_ = ended;
                   limit_at_.reset();
                   outcome_ = decided_ ? *decided_ : host::outcome_of(ended.wait_status);
                 },
                 [&](const host::AllGone& gone) {
                   if (!outcome_) outcome_ = decided_.value_or(Lost{"its first process vanished"});
                   if (gone.survivors > 0) {
                     words_.push_back(
                         {std::to_string(gone.survivors) +
                              " of the job's processes could not be ended: the kernel does "
                              "not let them go (state D in ps)",
                          true});
                   }
                   over_ = true;
                 },
                 [&](const host::GuardLost&) {
                   if (!outcome_) {
                     outcome_ = Lost{"its guard process was killed"};
                     words_.push_back(
                         {"the job's guard process was killed from outside; every process of the "
                          "job has been ended with it",
                          true});
                   }
                   over_ = true;
                 }},
      event);
}

const Outcome& AttachedRun::outcome() const {
  assert(over_ && outcome_);
  return *outcome_;
}

int AttachedRun::exit_status() const {
  return exit_instead_ ? *exit_instead_ : gpl::exit_status(outcome());
}

std::vector<AttachedRun::Words> AttachedRun::take_words() { return std::exchange(words_, {}); }

void AttachedRun::settle(Outcome outcome) {
  if (!decided_) decided_ = std::move(outcome);
}

}  // namespace gpl::client
