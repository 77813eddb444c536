#pragma once

#include "gpl/core/attempt.h"
#include "gpl/core/job_record.h"
#include "gpl/core/peer_record.h"
#include "gpl/core/state_part.h"
#include "parted_table.h"
#include "state_index.h"
#include "task_runs.h"

namespace gpl {

inline JobId key_of(const JobRecord& job) { return job.id; }
inline AttemptId key_of(const Attempt& attempt) { return attempt.fence.attempt; }
inline AttemptId key_of(const FencedAttempt& attempt) { return attempt.fence.attempt; }
inline PeerId key_of(const PeerRecord& peer) { return peer.id; }

/// All that the replicated state is; the index follows from it.
struct State {
  StateCounters counters;
  PartedTable<JobRecord> jobs;
  PartedTable<WaitingTasks> waiting;
  PartedTable<EndedTasks> ended;
  PartedTable<RetriedTasks> retried;
  PartedTable<Attempt> attempts;
  PartedTable<FencedAttempt> fenced;
  PartedTable<PeerRecord> peers;
  StateIndex index;
};

struct FrozenTables {
  StateCounters counters;
  PartedTable<JobRecord>::Frozen jobs;
  PartedTable<WaitingTasks>::Frozen waiting;
  PartedTable<EndedTasks>::Frozen ended;
  PartedTable<RetriedTasks>::Frozen retried;
  PartedTable<Attempt>::Frozen attempts;
  PartedTable<FencedAttempt>::Frozen fenced;
  PartedTable<PeerRecord>::Frozen peers;
};

/// How a job must end for this dependency: true when it did. Requires a job that has ended.
bool is_satisfied(const Dependency& dependency, const JobRecord& job);
/// A dependency has not ended yet.
bool is_blocked(const State& state, const JobRecord& job);
/// It has tasks to place, and is neither held nor blocked.
bool is_placeable(const State& state, const JobRecord& job);

}  // namespace gpl
