#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gpl/core/job_state.h"
#include "gpl/core/time.h"
#include "gpl/host/runner.h"

namespace gpl::client {

/// Decides what an attached `gpl run` does about each thing that happens: a signal, an event of the
/// Runner, a closed output, the passing of time. No I/O but the Runner's. `wake_at` and `tick` are
/// the whole contract for time; instants come from a clock that never goes back.
class AttachedRun {
 public:
  struct Options {
    std::string program;  ///< the command's first word, for messages
    std::optional<Duration> time_limit;
    Duration grace = seconds(10);  ///< between SIGTERM and SIGKILL
  };

  /// `runner` has been started and outlives this.
  AttachedRun(host::Runner& runner, Options options);

  /// The first SIGINT goes to the job, a second one kills it. SIGHUP ends it: its terminal is gone.
  /// Any other signal is passed on.
  void on_signal(int signal_number);
  void on_event(const host::RunnerEvent& event, Instant now);
  /// The reader of the job's output is gone (EPIPE): the job is stopped. Also when it is over and
  /// what its pipes still held could not be delivered.
  void on_reader_gone();
  /// Nobody can use the job's output any more, because of a failure of gpl's own. Also when it is
  /// over: its own exit status would claim that all was delivered.
  void on_output_lost();
  void tick(Instant now);
  std::optional<Instant> wake_at() const { return over() ? std::nullopt : limit_at_; }

  /// The command's first process has ended, or never began.
  bool ended() const { return outcome_.has_value(); }
  /// No process is left. Requires nothing more than to read what the pipes still hold.
  bool over() const { return over_; }
  /// Requires `over()`.
  const Outcome& outcome() const;
  /// What gpl exits with: that of the outcome, unless a signal to gpl or its output says otherwise.
  int exit_status() const;
  const host::FirstProcessEnded& usage() const { return usage_; }

  /// What gpl says for itself since the last call, a line each, without "gpl: ".
  struct Words {
    std::string line;
    bool trouble = false;  ///< something went wrong: said also when quiet
    friend bool operator==(const Words&, const Words&) = default;
  };
  std::vector<Words> take_words();

 private:
  void settle(Outcome outcome);

  host::Runner& runner_;
  Options options_;
  std::optional<Instant> limit_at_;
  std::optional<Outcome> decided_;  // by gpl: counts for more than how the process then ends
  std::optional<Outcome> outcome_;
  std::optional<int> exit_instead_;
  host::FirstProcessEnded usage_;
  int interrupts_ = 0;
  bool over_ = false;
  std::vector<Words> words_;
};

}  // namespace gpl::client
