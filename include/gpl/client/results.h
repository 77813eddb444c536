#pragma once

#include <string>
#include <vector>

#include "gpl/client/voice.h"
#include "gpl/client/workplace.h"
#include "gpl/core/job.h"
#include "gpl/core/job_state.h"

namespace gpl::client {

/// What became of the files that a command made.
struct Results {
  std::vector<artifact::Entry> brought;  ///< written to the caller's folder
  std::vector<artifact::Entry> kept;     ///< in the spool, for `gpl get`
  bool complete = true;                  ///< false: something asked for could not be brought back
};

/// After the end of a run: writes what --out names to `target`, keeps every other new or changed
/// file in the spool, and removes the rest of the workplace. `voice` says what was kept and what
/// went wrong. Whatever goes wrong, no file that the command made is removed.
Results settle_results(Workplace& place, const JobSpec& spec, const std::string& target,
                       const Outcome& outcome, const Voice& voice);

}  // namespace gpl::client
