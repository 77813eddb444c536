#pragma once

#include <algorithm>
#include <compare>
#include <optional>
#include <utility>
#include <vector>

#include "gpl/core/job_record.h"
#include "parted_table.h"

/// Tables of task ranges ("runs"): neighbours of a job that are alike are one record.
namespace gpl {

struct TaskKey {
  JobId job;
  TaskId task;
  friend auto operator<=>(const TaskKey&, const TaskKey&) = default;
};

inline TaskKey key_of(const WaitingTasks& run) { return {run.job, run.tasks.first}; }
inline TaskKey key_of(const EndedTasks& run) { return {run.job, run.tasks.first}; }
inline TaskKey key_of(const RetriedTasks& run) { return {run.job, run.tasks.first}; }

// What makes neighbours one, and what becomes of the rest of them.
inline bool alike(const WaitingTasks&, const WaitingTasks&) { return true; }
inline bool alike(const EndedTasks& a, const EndedTasks& b) { return a.outcome == b.outcome; }
inline bool alike(const RetriedTasks& a, const RetriedTasks& b) { return a.count == b.count; }
inline void absorb(WaitingTasks&, const WaitingTasks&) {}
inline void absorb(EndedTasks& into, const EndedTasks& other) {
  into.last_at = std::max(into.last_at, other.last_at);
}
inline void absorb(RetriedTasks&, const RetriedTasks&) {}

/// `second` could have been taken into `first`, its predecessor in the table.
template <class Run>
bool are_one(const Run& first, const Run& second) {
  return first.job == second.job && first.tasks.last.value + 1 == second.tasks.first.value &&
         alike(first, second);
}

/// The run that has the task, or null.
template <class Run>
const Run* run_of(const PartedTable<Run>& table, JobId job, TaskId task) {
  const Run* run = table.at_or_before({job, task});
  return run != nullptr && run->job == job && run->tasks.contains(task) ? run : nullptr;
}

/// The first run of the job that has a task from `from` on, or null.
template <class Run>
const Run* run_from(const PartedTable<Run>& table, JobId job, TaskId from) {
  if (const Run* run = run_of(table, job, from)) return run;
  const Run* run = table.after({job, from});
  return run != nullptr && run->job == job ? run : nullptr;
}

/// Requires that none of its tasks is there.
template <class Run>
void add_run(PartedTable<Run>& table, Run run) {
  std::optional<TaskKey> grown;
  if (const Run* before = table.at_or_before(key_of(run)); before && are_one(*before, run)) {
    grown = key_of(*before);
    Run& record = table.write(*grown);
    record.tasks.last = run.tasks.last;
    absorb(record, run);
    run = record;
  }
  if (const Run* next = table.after(key_of(run)); next && are_one(run, *next)) {
    run.tasks.last = next->tasks.last;
    absorb(run, *next);
    table.erase(key_of(*next));
    if (grown) table.write(*grown) = run;
  }
  if (!grown) table.insert(std::move(run));
}

/// Takes the tasks of the range out, those that are there, and returns them.
template <class Run>
std::vector<Run> take_runs(PartedTable<Run>& table, JobId job, TaskRange range) {
  std::vector<Run> taken;
  for (TaskId from = range.first;;) {
    const Run* found = run_from(table, job, from);
    if (found == nullptr || found->tasks.first > range.last) return taken;
    Run run = *found;
    table.erase(key_of(run));
    if (run.tasks.first < from) {
      Run left = run;
      left.tasks.last = TaskId{from.value - 1};
      run.tasks.first = from;
      table.insert(std::move(left));
    }
    if (run.tasks.last > range.last) {
      Run right = run;
      right.tasks.first = TaskId{range.last.value + 1};
      run.tasks.last = range.last;
      table.insert(std::move(right));
    }
    from = TaskId{run.tasks.last.value + 1};
    taken.push_back(std::move(run));
    if (from > range.last) return taken;
  }
}

}  // namespace gpl
