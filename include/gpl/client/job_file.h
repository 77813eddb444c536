#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gpl/client/job_terms.h"
#include "gpl/core/job.h"
#include "gpl/core/requirement_text.h"
#include "gpl/core/result.h"

namespace gpl::client {

/// A job as a file describes it (gpl-job(5)).
struct JobFile {
  JobSpec spec;
  /// Names whose values are to be taken from the caller's environment, and added to spec.env; one
  /// that the caller does not have is left out, as with `--env K`.
  std::vector<std::string> env_from_caller;
  /// What it asks of a peer; the options of the command line come on top (`merge`).
  RequirementText requirement;
  JobTerms terms;
  friend bool operator==(const JobFile&, const JobFile&) = default;
};

/// Reads a job file: the keys are the long options of `gpl run` with `_` for `-`, and `command`.
/// The spec it gives is valid (`validate`). Errors begin with `file_name` and the line:
/// Code::invalid for what is wrong, Code::unsupported for an option that a later version has,
/// Code::too_large over 1 MiB.
Result<JobFile> parse_job_file(std::string_view text, const std::string& file_name);

}  // namespace gpl::client
