#pragma once

#include <map>
#include <optional>
#include <vector>

#include "gpl/client/session.h"
#include "gpl/core/id.h"
#include "gpl/core/job_state.h"
#include "gpl/core/result.h"
#include "gpl/core/time.h"

namespace gpl::client {

/// Waits until all of these have ended, and returns how. With a limit: those that had not ended by
/// then are missing.
Result<std::map<JobId, Outcome>> wait_for(Session& session, const std::vector<JobId>& jobs,
                                          std::optional<Duration> at_most);

/// What `gpl wait` exits with: that of the failing job of lowest number, else 0.
int exit_status(const std::map<JobId, Outcome>& outcomes);

}  // namespace gpl::client
