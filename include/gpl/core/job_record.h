#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "gpl/core/id.h"
#include "gpl/core/job_description.h"
#include "gpl/core/job_state.h"
#include "gpl/core/task_range.h"
#include "gpl/core/time.h"

namespace gpl {

/// A job and how far it is. Its tasks are elsewhere, in ranges: each of them is waiting, under way
/// in one attempt, or ended.
struct JobRecord {
  JobId id;
  RequestId request;
  Submitter submitter;
  /// Never null. Shared between versions of the record: it never changes.
  std::shared_ptr<const JobDescription> description;
  Instant submitted_at;
  bool held = false;
  bool cancelled = false;             ///< as a whole
  std::uint64_t waiting_count = 0;    ///< tasks to be placed
  std::uint64_t under_way_count = 0;  ///< tasks that have an attempt
  std::uint64_t ended_count = 0;
  std::uint64_t failed_count = 0;   ///< ended, and not with exit code 0
  std::optional<Instant> ended_at;  ///< when its last task ended
  /// Tasks of which two attempts are known to have run at once; ascending.
  std::vector<TaskId> overlaps;

  bool has_ended() const { return ended_at.has_value(); }
  /// Compares what the descriptions say.
  friend bool operator==(const JobRecord& a, const JobRecord& b);
};

/// Tasks of a job that are to be placed. The ranges of a job neither touch nor overlap.
struct WaitingTasks {
  JobId job;
  TaskRange tasks;
  friend bool operator==(const WaitingTasks&, const WaitingTasks&) = default;
};

/// Tasks of a job that ended alike. Ranges of a job that touch differ in their outcome.
struct EndedTasks {
  JobId job;
  TaskRange tasks;
  Outcome outcome;
  Instant last_at;  ///< when the last of them ended
  friend bool operator==(const EndedTasks&, const EndedTasks&) = default;
};

/// Tasks of a job that were each tried again so often. Those that never were are not told.
struct RetriedTasks {
  JobId job;
  TaskRange tasks;
  std::uint32_t count = 0;
  friend bool operator==(const RetriedTasks&, const RetriedTasks&) = default;
};

}  // namespace gpl
