#pragma once

#include <cstdint>
#include <string>

#include "gpl/core/job_state.h"
#include "gpl/core/requirement.h"
#include "gpl/core/time.h"
#include "gpl/wire/client_message.h"

/// A job in words, for people. What comes from outside is made fit for a terminal.
namespace gpl::client {

/// "signal 9 (SIGKILL)".
std::string signal_words(int number);

/// How it ended, whole: "exited 3", "cancelled (killed by signal 9 (SIGKILL): it did not end within
/// 10 s of SIGTERM)", "time limit reached", "lost: its keeper died".
std::string outcome_words(const Outcome& outcome);
/// The same in a word or two, for a table.
std::string outcome_in_short(const Outcome& outcome);

/// "1st", "2nd", "11th".
std::string ordinal(std::uint64_t number);

/// "running", "running 37/100 (2 failed)", "queued (2nd)", "ended 3".
std::string state_words(const wire::JobSummary& job);

/// What a job asks for: "2 cuda, 16.0 GiB each, 4 cpus, torch >=2.1"; "" nothing.
std::string requirement_words(const Requirement& asked);

/// "2 files kept until 2026-12-07: gpl get 12"; "" none.
std::string kept_words(const wire::JobSummary& job);

/// "2026-12-07" and "2026-12-07 14:03", in this machine's time zone.
std::string local_date(Instant at);
std::string local_time(Instant at);

}  // namespace gpl::client
