#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "gpl/core/attempt.h"
#include "gpl/core/id.h"
#include "gpl/core/job_record.h"
#include "gpl/core/peer_record.h"

namespace gpl {

/// What a snapshot of the replicated state is made of: a few records of one kind at a time. All of
/// a kind, in order of their parts, ascend. Numbered in snapshots by their place here: append only.
struct StateCounters {
  JobId next_job{1};
  AttemptId next_attempt{1};
  std::uint64_t epoch = 0;
  std::uint32_t feature_level = 1;
  std::uint64_t digest = 0;
  friend bool operator==(const StateCounters&, const StateCounters&) = default;
};
struct JobsPart {
  std::vector<JobRecord> jobs;  ///< by id
  friend bool operator==(const JobsPart&, const JobsPart&) = default;
};
struct WaitingPart {
  std::vector<WaitingTasks> tasks;  ///< by job and task, as the next two
  friend bool operator==(const WaitingPart&, const WaitingPart&) = default;
};
struct EndedPart {
  std::vector<EndedTasks> tasks;
  friend bool operator==(const EndedPart&, const EndedPart&) = default;
};
struct RetriedPart {
  std::vector<RetriedTasks> tasks;
  friend bool operator==(const RetriedPart&, const RetriedPart&) = default;
};
struct AttemptsPart {
  std::vector<Attempt> attempts;  ///< by id
  friend bool operator==(const AttemptsPart&, const AttemptsPart&) = default;
};
struct FencedPart {
  std::vector<FencedAttempt> attempts;  ///< by id
  friend bool operator==(const FencedPart&, const FencedPart&) = default;
};
struct PeersPart {
  std::vector<PeerRecord> peers;  ///< by id
  friend bool operator==(const PeersPart&, const PeersPart&) = default;
};
using StatePart = std::variant<StateCounters, JobsPart, WaitingPart, EndedPart, RetriedPart,
                               AttemptsPart, FencedPart, PeersPart>;

struct FrozenTables;

/// The state as it was when it was frozen. Any thread may read it, while the state goes on on its
/// own; copies are cheap and share it.
class FrozenState {
 public:
  explicit FrozenState(std::shared_ptr<const FrozenTables> tables);
  std::size_t part_count() const;
  /// Requires index < part_count(). Copies that one part.
  StatePart part(std::size_t index) const;

 private:
  // Shared, since it is read by another thread than the one that may go on to drop it.
  std::shared_ptr<const FrozenTables> tables_;
};

}  // namespace gpl
