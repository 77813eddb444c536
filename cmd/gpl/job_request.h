#pragma once

#include <span>
#include <string>
#include <vector>

#include "gpl/client/job_terms.h"
#include "gpl/client/submission.h"
#include "gpl/core/job.h"
#include "gpl/core/requirement.h"
#include "gpl/core/result.h"
#include "gpl/host/configuration.h"
#include "gpl/host/folders.h"
#include "gpl/wire/keeper_message.h"
#include "option_table.h"

namespace gpl::cmd {

/// What the words of `gpl run` or `gpl submit` ask for.
struct JobRequest {
  ParsedOptions options;
  JobSpec spec;
  Requirement requirement;
  client::JobTerms terms;
};

/// Takes the words of `gpl COMMAND` apart, reads the job file among them, and checks it all. With
/// --help nothing but `options` is set. Errors begin with the command's name.
Result<JobRequest> parse_job_request(const std::string& command, std::span<const OptionRow> table,
                                     const std::vector<std::string>& args);

/// The values of --secret, from the environment here. Code::invalid for one that is not set.
Result<std::vector<wire::Secret>> read_secrets(const client::JobTerms& terms);

/// The request for a peer of this machine, with the secrets' values. Code::invalid as read_secrets.
Result<client::SubmissionRequest> submission_of(const JobRequest& asked,
                                                const host::Folders& folders,
                                                const host::Configuration& configuration,
                                                const std::string& here);

}  // namespace gpl::cmd
