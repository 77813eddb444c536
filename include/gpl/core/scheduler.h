#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gpl/core/cluster_state.h"
#include "gpl/core/command.h"
#include "gpl/core/explain.h"
#include "gpl/core/fit.h"
#include "gpl/core/id.h"
#include "gpl/core/job_description.h"
#include "gpl/core/queue_place.h"
#include "gpl/core/time.h"

namespace gpl {

class PassAtWork;

/// What a job asks of a peer of a cluster: as its requirement says, and one processor where it says
/// nothing of processors.
Requirement asked_in_cluster(const Requirement& requirement);

/// What an attempt gets of a peer by a placement that `judge` gave.
Allocation allocation_of(const Requirement& asked, const Placement& placement,
                         const PeerView& peer);

/// Decides what starts where: by priority, then age; on the fullest peer that fits, with the least
/// capable devices that serve. The first job that cannot start now reserves a peer: what is behind
/// it may start there only beside it, or when its time limit lets it end before.
///
/// A pass calls `judge` no more often than it is told, but for what one or two jobs need (some 4
/// calls a peer), and is resumed by the next one where it stopped. What a scheduler keeps is where
/// it is, and which peer waits for whom, so that the choice stays: a new leader needs nothing of
/// it.
class Scheduler {
 public:
  struct Pass {
    std::vector<command::Place> places;  ///< in the order in which they are to be applied
    bool complete = true;                ///< else the next pass goes on; call it soon
    std::size_t checks = 0;              ///< calls of `judge`
  };
  /// Requires checks > 0, and that what the pass before has placed is in the state, or given up.
  /// `away`: peers that get nothing, though the state does not yet say that they are down.
  Pass pass(const ClusterState& state, Instant now, std::size_t checks,
            const std::set<PeerId>& away = {});

  /// Forgets where it is: the next pass begins at the front of the queue.
  void restart();

 private:
  /// The first job of a round that finds no place now, and the peer that is kept for it.
  struct Kept {
    QueuePlace job;
    PeerId peer;
    std::optional<Instant> free_by;  ///< as it was known when the round came to the job
  };

  void begin_round(const ClusterState& state);
  bool go_on(const ClusterState& state, PassAtWork& work);
  void keep(const QueuePlace& job, PassAtWork& work);

  std::optional<QueuePlace> next_;  ///< where the round goes on; nothing: none is under way
  std::optional<Kept> kept_;        ///< in this round
  std::optional<Kept> before_;      ///< in one before
  std::uint64_t digest_ = 0;        ///< of the state, when the round began
};

/// `home`: the peer that takes the submit.
///
/// Where a job that is being submitted starts at once, to travel in its Submit; nothing when it has
/// to wait, be it for its turn. The rule of a pass, and on the safe side of it: a job that waits in
/// front keeps every peer on which it could run. What takes more than a look (about 64 checks, or a
/// few jobs in front) is left to the next pass, as is the rest of a large array.
std::vector<command::Placing> place_at_submit(const ClusterState& state,
                                              const JobDescription& description, Instant now,
                                              const std::set<PeerId>& away = {}, PeerId home = {});

/// Why a job of the cluster runs, waits or cannot: the explanation over all peers, with the
/// verdicts `held` and `blocked`, its place in the queue (from 1; 0: it does not wait) and, in the
/// headline, for what it waits. Of one that runs or has ended the headline says where or how; the
/// verdict is `fits`, and peers are not asked. Requires a known job.
struct JobExplanation {
  Explanation explanation;
  std::uint64_t position = 0;
};
JobExplanation explain_job(const ClusterState& state, JobId job, Instant now);

/// The same for one that is not submitted. `all_reported`: every peer of the cluster has reported,
/// or has had the time to: only then `never` is said.
Explanation explain_new(const ClusterState& state, const Requirement& requirement,
                        bool all_reported, Instant now);

}  // namespace gpl
