#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "gpl/core/attempt.h"
#include "gpl/core/command.h"
#include "gpl/core/id.h"
#include "gpl/core/job_record.h"
#include "gpl/core/peer_record.h"
#include "gpl/core/peer_view.h"
#include "gpl/core/queue_place.h"
#include "gpl/core/result.h"
#include "gpl/core/state_part.h"
#include "gpl/core/task_range.h"

namespace gpl {

/// Two attempts at a task ran at once.
struct Overlap {
  JobId job;
  TaskId task;
  friend bool operator==(const Overlap&, const Overlap&) = default;
};

/// What a command did. Equal on every peer.
struct Applied {
  std::optional<Error> refused;   ///< then nothing else, and the state is as it was
  std::optional<JobId> job;       ///< of a submit, told again or not
  std::vector<AttemptId> placed;  ///< to be started on their peers
  std::vector<Fence> to_end;      ///< attempts that run, as far as is known, and must not
  std::vector<JobId> ended;       ///< jobs; ascending
  /// Of a start or a report: the attempt had been given up. Its outcome was not taken, only noted
  /// that it ran.
  bool given_up = false;
  std::vector<Overlap> overlaps;  ///< that are known by it
  friend bool operator==(const Applied&, const Applied&) = default;
};

struct State;

/// The replicated state machine: jobs, attempts, peers. Deterministic: the same commands in the
/// same order make the same state and the same answers on every peer, whatever its machine. It is
/// kept in parts that are copied when they are first written to after a freeze, so that a snapshot
/// costs the loop nothing.
class ClusterState {
 public:
  /// Empty, at feature level 1 and epoch 0.
  ClusterState();
  ~ClusterState();
  ClusterState(ClusterState&&) noexcept;
  ClusterState& operator=(ClusterState&&) noexcept;

  /// Atomic: refused commands change nothing.
  Applied apply(const Command& command);

  // The jobs. What is returned by pointer is valid until the next `apply`.
  const JobRecord* find_job(JobId id) const;
  /// The first job with an id larger than this one's, or null: JobId{} begins.
  const JobRecord* job_after(JobId id) const;
  /// Calls f(const JobRecord&) in order of id.
  template <class F>
  void for_each_job(F&& f) const {
    for (const JobRecord* job = job_after({}); job != nullptr; job = job_after(job->id)) f(*job);
  }
  std::optional<JobId> find_request(const RequestId& request) const;
  std::size_t job_count() const;
  /// Jobs with tasks to place that are neither held nor blocked by a dependency, in the order in
  /// which their turn comes: of those from this job's place on the first so many. JobId{} begins;
  /// nothing is behind an unknown job.
  std::vector<JobId> placeable(JobId from = {},
                               std::size_t at_most = std::numeric_limits<std::size_t>::max()) const;
  /// The first of them behind this place; without one: of all. Nothing when there is none.
  std::optional<QueuePlace> placeable_after(const std::optional<QueuePlace>& place) const;
  bool is_placeable(const QueuePlace& place) const;
  /// How many of them are in front of this place, counted up to `at_most`.
  std::size_t placeable_before(const QueuePlace& place, std::size_t at_most) const;
  /// Dependencies that have not ended yet. A job with any is blocked.
  std::vector<Dependency> blocked_by(JobId id) const;
  /// How many more placings the limit of its array leaves the job.
  std::uint64_t placings_left(JobId id) const;

  // The tasks of a job, ascending; nothing of an unknown job.
  /// The first range that has a task from `from` on: it may begin before that.
  std::optional<TaskRange> first_waiting(JobId id, TaskId from = {}) const;
  std::vector<TaskRange> waiting(JobId id) const;
  std::vector<AttemptId> attempts_of(JobId id) const;
  std::vector<EndedTasks> ended(JobId id) const;
  std::optional<Outcome> outcome_of(JobId id, TaskId task) const;
  std::uint32_t retries_of(JobId id, TaskId task) const;

  // The attempts under way, by id.
  const Attempt* find_attempt(AttemptId id) const;
  std::vector<AttemptId> attempts_on(PeerId peer) const;
  // Of an attempt that was given up: whether a Start, or a Report that it outlived its lease, would
  // be taken, since another attempt at its task may have run at once with it.
  bool is_news_that_ran(const Fence& fence) const;
  bool is_news_that_outlived(const Fence& fence) const;

  // The peers, by id.
  const PeerRecord* find_peer(PeerId id) const;
  std::vector<PeerId> peers() const;
  /// The peer as the placing functions want it: its offer, and what attempts hold there. Requires a
  /// known peer.
  PeerView view_of(PeerId peer) const;
  /// How many processors nobody holds there, without a view. Requires a known peer.
  std::int64_t free_cpus(PeerId peer) const;

  std::uint64_t epoch() const;
  std::uint32_t feature_level() const;
  /// Id that the next new job gets.
  JobId next_job() const;

  /// An order-sensitive hash of every command that changed the state, and of what it did: the same
  /// history has the same digest. Histories that differ have different ones, but for chance.
  std::uint64_t digest() const;

  /// In O(number of parts). What is written to afterwards is first copied, a part at a time.
  FrozenState freeze() const;
  /// Code::invalid when the parts are not those of a state (they may be hostile), with what is
  /// wrong; Code::unsupported when a newer gpl wrote them. What is restored gives every later
  /// answer as the state that was frozen.
  static Result<ClusterState> restore(std::vector<StatePart> parts);

 private:
  explicit ClusterState(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace gpl
