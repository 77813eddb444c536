#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "gpl/core/id.h"
#include "gpl/core/result.h"
#include "gpl/core/time.h"

namespace gpl {

/// The command ended by itself.
struct Exited {
  int code = 0;  ///< 0 to 255
  friend bool operator==(const Exited&, const Exited&) = default;
};
/// A signal ended the command: told apart from an exit with 128+N.
struct Signalled {
  int signal = 0;
  bool core_dumped = false;
  friend bool operator==(const Signalled&, const Signalled&) = default;
};
/// Its time limit ended it.
struct TimedOut {
  int signal = 0;  ///< that ended it; 0: it ended by itself when told to, or is not known
  friend bool operator==(const TimedOut&, const TimedOut&) = default;
};
/// A person ended it.
struct Cancelled {
  int signal = 0;  ///< that ended it; 0: it ended by itself when told to, or never ran
  friend bool operator==(const Cancelled&, const Cancelled&) = default;
};
/// The command never ran.
struct FailedToStart {
  int errno_value = 0;  ///< the system's reason, 0 when it was not the system's
  int exit = 125;       ///< 126 not executable, 127 not found, 125 gpl itself could not
  std::string message;  ///< for a person
  friend bool operator==(const FailedToStart&, const FailedToStart&) = default;
};
/// What became of the command is not known.
struct Lost {
  std::string why;  ///< for a person
  friend bool operator==(const Lost&, const Lost&) = default;
};
/// How a job ended.
using Outcome = std::variant<Exited, Signalled, TimedOut, Cancelled, FailedToStart, Lost>;

struct Queued {
  friend bool operator==(const Queued&, const Queued&) = default;
};
/// Its files are being brought to where it will run.
struct Staging {
  friend bool operator==(const Staging&, const Staging&) = default;
};
struct Running {
  AttemptId attempt;
  Instant since;
  friend bool operator==(const Running&, const Running&) = default;
};
struct Ended {
  Outcome outcome;
  Instant at;
  friend bool operator==(const Ended&, const Ended&) = default;
};
/// Where a job stands. It goes queued, staging, running, ended, and may end from any of the first
/// three; a job is never taken out of `Ended`.
using JobState = std::variant<Queued, Staging, Running, Ended>;

/// `queued`, `staging`, `running`, `ended`: for listings and JSON.
std::string_view name_of(const JobState& state);
/// `exited`, `signalled`, `timed out`, `cancelled`, `failed to start`, `lost`.
std::string_view name_of(const Outcome& outcome);
/// What it is when a person ended it: Cancelled, by the signal that the outcome tells of.
Cancelled cancelled_by(const Outcome& outcome);
/// Code::invalid for one that no process can have: an exit code over 255, say.
Status validate(const Outcome& outcome);

/// The transitions. An illegal one is refused with Code::invalid and a message that names both
/// states: it is a bug or a stale message, and the state stays as it is.
/// From queued only. A job that has nothing to stage passes through staging too.
Result<JobState> begin_staging(const JobState& state);
/// From staging only, once the command runs.
Result<JobState> begin_running(const JobState& state, AttemptId attempt, Instant since);
/// From running with every outcome but `FailedToStart`; before it only with `Cancelled`,
/// `FailedToStart` and `Lost`, since a command that never ran has no exit, signal or time.
Result<JobState> end(const JobState& state, Outcome outcome, Instant at);

/// What `gpl run` exits with: the command's own code; 128+N of a signal; 124 time limit; 125 to 127
/// as `FailedToStart` says; 125 lost; 130 cancelled (the habits of timeout(1) and docker run).
int exit_status(const Outcome& outcome);

}  // namespace gpl
