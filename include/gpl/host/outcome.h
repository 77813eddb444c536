#pragma once

#include <string>

#include "gpl/core/job_state.h"
#include "gpl/host/spawn.h"

namespace gpl::host {

/// How a command ended whose first process has this status, as of wait(2).
Outcome outcome_of(int wait_status);

/// Why `program`, the first word of a command, did not start, with words for a person.
FailedToStart failure_of(const std::string& program, const SpawnFailure& failure);

}  // namespace gpl::host
