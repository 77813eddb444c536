#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gpl/core/cluster_state.h"
#include "gpl/core/id.h"
#include "gpl/core/job_description.h"
#include "gpl/core/time.h"
#include "gpl/peer/job_summary.h"
#include "gpl/wire/client_message.h"

/// What `gpl status` is told, out of the cluster's state.
namespace gpl::peer {

/// The jobs that the query means, ascending. A range means whatever jobs there are with these ids,
/// of anyone; the others the asker's own unless `everyone`. At most one walk over the jobs.
std::vector<JobId> select(const ClusterState& state, const wire::JobQuery& query,
                          const Submitter& asker);

/// What the consensus knows of the cluster.
struct ClusterFacts {
  std::string cluster;  ///< short name; "": none yet
  std::string leader;   ///< its name; "": none
  std::uint32_t voters = 0;
  std::uint32_t can_lose = 0;
  bool unprotected = false;
};

inline constexpr std::size_t most_active_listed = 200;
inline constexpr std::size_t most_ended_listed = 10;

/// The cluster on one screen: peers by name; of the active jobs those with attempts by id, then the
/// queue in its order, then what is held or blocked, `most_active_listed` in all; the most recent
/// ends, newest first. One walk over the jobs, besides what is shown.
wire::ClusterStatus cluster_status(const ClusterState& state, const ClusterFacts& facts,
                                   const ListingContext& context, Instant now);

}  // namespace gpl::peer
