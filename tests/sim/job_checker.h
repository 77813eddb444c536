#pragma once

// Follows what the log does to jobs, entry by entry, once for all members (their states agree, or
// the consensus checker says so): what was acknowledged stays, nothing is held twice, and of an
// attempt one outcome is taken at most.

#include <map>
#include <set>

#include "gpl/peer/replica.h"
#include "sim/world.h"

namespace gpl::sim {

class JobChecker {
 public:
  explicit JobChecker(World& world) : world_(world) {}

  /// The member that a client asked has applied its submit, in an entry of this term.
  void acknowledged(const RequestId& request, JobId job, raft::Term term);
  /// On each member, with the state right after the entry.
  void applied(const peer::AppliedEntry& entry, const ClusterState& state);
  /// A member begins to lead in this term.
  void leads(const std::string& name, raft::Term term, const ClusterState& state);
  /// All has settled.
  void settled(raft::Term term, const ClusterState& state, bool jobs_end);

 private:
  void applied(const Command& command, const Applied& result, const ClusterState& state);
  void submitted(const command::Submit& submit, const Applied& result);
  void placed(AttemptId id, const ClusterState& state);
  void reported(const command::Report& report, const Applied& result);
  void given_up(const std::vector<Fence>& attempts);

  World& world_;
  raft::Index seen_ = 0;
  std::map<RequestId, JobId> jobs_;
  struct Acknowledged {
    JobId job;
    raft::Term term = 0;
  };
  std::map<RequestId, Acknowledged> acknowledged_;
  std::set<JobId> ended_;
  std::set<AttemptId> settled_;  ///< their outcome is taken, or will not be
  bool pruned_ = false;
};

}  // namespace gpl::sim
