#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gpl/core/cluster_state.h"
#include "gpl/core/id.h"
#include "gpl/core/job_description.h"
#include "gpl/core/time.h"
#include "gpl/wire/client_message.h"

/// A job as it is told to clients, out of the cluster's state.
namespace gpl::peer {

/// What a peer knows of a job that the cluster's state does not say.
struct JobNotes {
  std::uint64_t kept_files = 0;  ///< made and not fetched
  std::uint64_t kept_bytes = 0;
  std::optional<Instant> kept_until;
  std::uint64_t left_out_bytes = 0;   ///< of its output, which were not kept
  bool client_gone = false;           ///< it was attached and is no more
  std::optional<Instant> started_at;  ///< of one that has ended, where that is known
  std::vector<std::string> where;     ///< the same: the peers that ran it
  friend bool operator==(const JobNotes&, const JobNotes&) = default;
};

/// The places of the jobs that wait for their turn, for summaries of many of them: made once, by a
/// walk over the queue, or over the front of it. It is of the state as it was.
class QueuePositions {
 public:
  explicit QueuePositions(const ClusterState& state,
                          std::size_t at_most = std::numeric_limits<std::size_t>::max());
  /// From 1; 0: it does not wait for its turn, or behind what was walked over.
  std::uint64_t of(JobId job) const;

 private:
  std::map<JobId, std::uint64_t> positions_;
};

/// An empty function stands for: nothing is known.
struct ListingContext {
  std::function<std::string(const Submitter&)> name_of;  ///< of a person
  std::function<JobNotes(JobId)> notes_of;
  bool details = false;  ///< with the descriptions
  /// Without it each summary of a job that waits counts those in front of it.
  const QueuePositions* positions = nullptr;
};

/// Requires a known job. Its state in one word: `running` when any attempt runs, `starting` when
/// one is placed, `held`, `blocked`, `queued`, `ended`. Only a queued one has a position.
wire::JobSummary summarise(const ClusterState& state, JobId job, const ListingContext& context,
                           Instant now);

}  // namespace gpl::peer
