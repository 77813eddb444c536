#pragma once

#include <string>
#include <vector>

#include "gpl/wire/client_message.h"

namespace gpl::cmd {

/// The object of `gpl status --json`, as gpl-status(1) documents it, with a newline.
std::string cluster_json(const wire::ClusterStatus& status);
/// That of `gpl status --json` with JOB words: with the jobs' descriptions, where they are there.
std::string jobs_json(const std::vector<wire::JobSummary>& jobs);
/// That of `gpl peers --json`.
std::string peers_json(const wire::ClusterStatus& status);

}  // namespace gpl::cmd
