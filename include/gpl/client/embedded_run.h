#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpl/client/data_files.h"
#include "gpl/client/results.h"
#include "gpl/client/voice.h"
#include "gpl/core/job.h"
#include "gpl/core/job_state.h"
#include "gpl/core/requirement.h"
#include "gpl/core/result.h"
#include "gpl/host/configuration.h"
#include "gpl/host/folders.h"
#include "gpl/host/runner.h"

namespace gpl::client {

/// One `gpl run` in the embedded peer: everything that it is told.
struct EmbeddedRequest {
  JobSpec spec;
  Requirement requirement;
  host::Configuration configuration;
  host::Folders folders;
  std::string source;          ///< the caller's current folder, absolute
  std::vector<DataWish> data;  ///< of this machine
  bool stdout_closed = false;  ///< descriptor 1 was closed when this process began
  bool stdout_to_err = false;  ///< the command's stdout goes to this process's stderr
};

/// How it went.
struct EmbeddedReport {
  JobId job;
  Outcome outcome;
  int exit_status = 0;
  std::int64_t started_ms = 0;  ///< since the epoch
  std::int64_t ended_ms = 0;
  host::FirstProcessEnded usage;
  Results results;
};

/// Runs the job on this machine, inside this process, which must be single-threaded: stages, starts
/// it under a guard, carries its output, and settles its files. An Error is a failure of gpl's own,
/// after which nothing runs and nothing is left.
Result<EmbeddedReport> run_embedded(const EmbeddedRequest& request, const Voice& voice);

}  // namespace gpl::client
