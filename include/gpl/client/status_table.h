#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "gpl/core/time.h"
#include "gpl/wire/client_message.h"

/// What `gpl status` and `gpl peers` show to people. Pure but for the time zone.
namespace gpl::client {

/// What it is shown on.
struct Screen {
  Instant now;
  std::optional<std::size_t> width;  ///< in columns; nothing: no terminal, nothing is cut
};

/// The cluster on one screen: a line for it, a table of its peers, one of its jobs.
std::string cluster_text(const wire::ClusterStatus& status, const Screen& screen);

/// "cluster 7f3a · leader lab1 · this machine alone: not protected against its loss".
std::string cluster_line(const wire::ClusterStatus& status);
std::string peers_text(const std::vector<wire::PeerSummary>& peers, const Screen& screen);
/// The same with each peer's part in the consensus, where it is reached, and its labels.
std::string links_text(const std::vector<wire::PeerSummary>& peers, const Screen& screen);
/// "" when there is none. Of what stands in it only commands are cut.
std::string jobs_text(const std::vector<wire::JobSummary>& jobs, const Screen& screen);

/// One job with all that is known of it: a line, then a line for each thing, indented.
std::string job_text(const wire::JobSummary& job, Instant now);

}  // namespace gpl::client
