#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "gpl/core/attempt.h"
#include "gpl/core/cluster_state.h"
#include "gpl/core/id.h"
#include "gpl/core/result.h"
#include "gpl/net/loop.h"
#include "gpl/peer/far_sessions.h"
#include "gpl/peer/local_attempts.h"
#include "gpl/peer/pool.h"
#include "gpl/wire/keeper_message.h"

namespace gpl::peer {

/// Which peer keeps a copy of the output of attempts that run elsewhere: the one that took the
/// submit; where that is the worker itself, or none, and the job is of a client without a peer of
/// its own, the leader's choice: the first other peer that is up, by id. Nothing: none is to.
std::optional<PeerId> keeps_copy(const ClusterState& state, const JobRecord& job, PeerId worker);

/// Copies of the output of attempts on other peers: STATE/mirrors/EPOCH.NUMBER/{stdout,stderr},
/// with the keeper's cap, head and tail. They grow as the worker tells, survive this process, and
/// go on where they were. To the rest of the peer they are LocalAttempts like those of the keeper,
/// and what the keeper is told of who looks at them (Follow, Watch) is told to them.
///
/// Of those that nobody looks at some hundred are asked for at a time; the others wait.
class Mirrors {
 public:
  struct Around {
    net::Loop& loop;
    Pool& pool;
    FarSessions& far;
    LocalAttempts& attempts;
    PeerId self;
    std::string state_folder;
    std::uint64_t cap_bytes = std::uint64_t{1} << 30U;  ///< of an attempt on disk; >= 64 KiB
    std::size_t most_questions = 200;                   ///< at a time
    std::function<std::string(PeerId)> name_of;
    std::function<bool(PeerId)> is_up;  ///< linked
    std::function<bool(JobId)> is_attached;
    /// As far as this peer's state says; false without a state.
    std::function<bool(const Fence&)> is_under_way;
    std::function<void(const std::string&)> note;
  };
  explicit Mirrors(Around around);
  ~Mirrors();
  Mirrors(const Mirrors&) = delete;
  Mirrors& operator=(const Mirrors&) = delete;

  /// What was kept before this process began (blocking). Told to the attempts.
  Status restore();

  /// It was placed: to be called for each that Applied::placed names, before the next command is
  /// applied, or one that ends at once is missed.
  void placed(const ClusterState& state, AttemptId attempt);
  /// The job is not in the state any more: its copies are removed.
  void forget(JobId job);
  /// The state is there, or was replaced as a whole: attempts to copy may have come, jobs and peers
  /// may be gone.
  void look_all(const ClusterState& state);
  /// The peer has a link again: what was broken off goes on.
  void peer_is_up(PeerId peer);
  /// Its worker has told how it ended: it has all of it, and is waited for.
  void reported(const Fence& attempt);
  /// The state has ended it without its worker's word: what has not come is not waited for.
  void lost(const Fence& attempt);
  /// The peer is out of reach: the same of those there that the state does not know any more.
  void peer_is_down(PeerId peer);
  /// It was given up or has left: copies of what ran there are as complete as they will be.
  void peer_is_gone(PeerId peer);

  bool has(const Fence& attempt) const;
  /// All that there is has come, and is on disk.
  bool is_complete(const Fence& attempt) const;
  /// Also of one that there is not.
  std::string folder_of(const Fence& attempt) const;
  /// As a keeper takes them.
  void follow(const wire::to_keeper::Follow& follow);
  void watch(const wire::to_keeper::Watch& watch);
  /// Removes the copy, here and from the attempts.
  void discard(const Fence& attempt);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace gpl::peer
