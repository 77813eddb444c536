#pragma once

#include "gpl/core/job_state.h"
#include "json.h"

namespace gpl::cmd {

/// {"kind", "exit_code", "signal", "message"}: what does not apply is null.
Json outcome_json(const Outcome& outcome);

}  // namespace gpl::cmd
