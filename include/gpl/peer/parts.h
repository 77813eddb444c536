#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gpl/artifact/chunk_store.h"
#include "gpl/net/loop.h"
#include "gpl/peer/attempt_follower.h"
#include "gpl/peer/consensus.h"
#include "gpl/peer/far_sessions.h"
#include "gpl/peer/holders.h"
#include "gpl/peer/identity.h"
#include "gpl/peer/job_news.h"
#include "gpl/peer/job_secrets.h"
#include "gpl/peer/job_traces.h"
#include "gpl/peer/keeper_calls.h"
#include "gpl/peer/keeper_link.h"
#include "gpl/peer/local_attempts.h"
#include "gpl/peer/mesh.h"
#include "gpl/peer/mirrors.h"
#include "gpl/peer/output_watch.h"
#include "gpl/peer/pool.h"
#include "gpl/peer/results.h"
#include "gpl/peer/staged_attempt.h"
#include "gpl/peer/staging.h"
#include "gpl/peer/tree_pins.h"
#include "gpl/peer/tree_pull.h"

namespace gpl::peer {

/// What the peer itself does for its clients.
struct PeerCalls {
  std::function<std::vector<wire::HealthRow>()> health;
  std::function<Status(bool draining)> set_draining;
  std::function<bool()> is_draining;
  /// The keeper that the cluster knows of is there to take orders: what is placed without it would
  /// be taken for lost with an earlier one.
  std::function<bool()> can_place;
  /// Why nothing more is taken on; nothing when there is room. Asked for every submit.
  std::function<std::optional<Error>()> short_of_space;
  /// A job of the cluster has this tree pinned.
  std::function<bool(const ContentId&)> is_pinned;
  /// An attached client has all of the job's output.
  std::function<void(JobId)> delivered;
  /// Another peer, which has attached clients, is gone without a word: as if it still followed, for
  /// as long as it may take to come back.
  std::function<void(std::unique_ptr<AttemptFollower>)> linger;
  /// Another peer has a copy of all of the attempt's output.
  std::function<void(const Fence&)> copied;
  /// Sees to it that a second peer has the job's tree and secrets, where there is one. `done` also
  /// when none could, which is noted.
  std::function<void(const wire::SubmitJob&, std::function<void()> done)> hold_elsewhere;
  /// Peers that nothing should be placed on, though the state does not say so yet.
  std::function<std::set<PeerId>(const ClusterState&)> unlinked;
  /// Of a machine, for people. PeerId{}: this one.
  std::function<std::string(PeerId)> name_of;
  /// Nothing new is taken, or again.
  std::function<void(bool leaving)> set_leaving;
  /// It is no member any more; then the process ends for good, and leaves nothing in the state
  /// folder that makes it a peer. Told why not otherwise.
  std::function<void(std::function<void(Status)>)> leave;
};

/// What a peer is made of, in the order of its making: the sessions with clients use it.
struct Parts {
  Parts(net::Loop& on, Identity who, std::string folder)
      : loop(on), identity(std::move(who)), state_folder(std::move(folder)) {}

  net::Loop& loop;
  Identity identity;
  std::string state_folder;
  std::unique_ptr<artifact::ChunkStore> store;
  std::unique_ptr<Pool> pool;
  std::unique_ptr<JobNews> news;
  std::unique_ptr<LocalAttempts> attempts;
  std::unique_ptr<KeeperLink> keeper;
  std::unique_ptr<OutputWatch> watch;
  std::unique_ptr<KeeperCalls> calls;
  std::unique_ptr<TreePins> pins;
  std::unique_ptr<Staging> staging;
  std::unique_ptr<Results> results;
  std::unique_ptr<JobSecrets> secrets;
  std::unique_ptr<Mesh> mesh;
  std::unique_ptr<FarSessions> far;
  std::unique_ptr<Holders> holders;
  std::unique_ptr<TreePulls> pulls;
  std::unique_ptr<Mirrors> mirrors;
  std::unique_ptr<Consensus> consensus;
  JobTraces traces;
  PeerCalls peer;
  bool leaving = false;  ///< nothing new is taken

  std::string attempts_folder() const { return state_folder + "/attempts"; }
  /// With its output: of an attempt here, or of the copy.
  std::string attempt_folder(const Fence& attempt) const {
    if (mirrors && mirrors->has(attempt)) return mirrors->folder_of(attempt);
    return attempts_folder() + "/" + StagedAttempt::name_of(attempt);
  }
};

}  // namespace gpl::peer
