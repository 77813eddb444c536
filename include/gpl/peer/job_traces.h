#pragma once

#include <map>
#include <optional>
#include <string>

#include "gpl/core/cluster_state.h"
#include "gpl/core/command.h"
#include "gpl/core/id.h"
#include "gpl/core/time.h"

namespace gpl::peer {

/// Where jobs ran and since when, as the log told while they did: the state says so of attempts
/// that are under way alone. Of what was before this process began it knows nothing.
class JobTraces {
 public:
  struct Trace {
    std::string peer;  ///< its name at that time
    std::optional<Instant> started_at;
  };

  /// To be called for every command, once the entry that it is in has been applied.
  void applied(const ClusterState& state, const Command& command, const Applied& result);
  /// The last attempt of the job that is known; null: none is.
  const Trace* find(JobId job) const;

 private:
  std::map<JobId, Trace> traces_;
  std::map<AttemptId, JobId> under_way_;
};

}  // namespace gpl::peer
