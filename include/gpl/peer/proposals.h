#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "gpl/core/command.h"
#include "gpl/core/result.h"
#include "gpl/core/time.h"
#include "gpl/peer/replica.h"
#include "gpl/wire/link_message.h"

namespace gpl::peer {

/// The commands of this peer that are to be applied: proposes each to whoever leads, and again when
/// that was in vain or nobody knows, until it is seen to be applied here. A command may thus be in
/// the log more than once; what is told is the application that is seen. The order is kept unless
/// something is lost.
class Proposals {
 public:
  using Done = std::function<void(Result<Applied>)>;
  struct Around {
    /// To the own log, by the leader. Errors as Replica::propose.
    std::function<Result<Replica::Proposed>(const Command&)> append;
    std::function<void(PeerId, wire::Propose)> ask;
  };
  using Finished = std::vector<std::pair<Done, Result<Applied>>>;

  Proposals(PeerId self, Around around) : self_(self), around_(std::move(around)) {}

  // Events. `leader`: 0, nobody, also while this peer is not ready.
  void add(Moment now, Command command, Done done);
  void leader_is(Moment now, PeerId leader);
  /// What was asked there may not have arrived.
  void unlinked(Moment now, PeerId peer);
  void take(Moment now, PeerId from, const wire::Proposed& proposed);
  void take(Moment now, PeerId from, const wire::NotProposed& refused);
  void applied(Moment now, const AppliedEntry& entry);
  /// The state was replaced by one at this place in the log: what became of those before it is not
  /// known.
  void restored(Moment now, raft::Index index, raft::Term term);
  void tick(Moment now);
  /// All of them fail.
  void fail(const Error& error);

  /// Whose end is to be told, in order.
  Finished take_finished() { return std::exchange(finished_, {}); }
  bool has_finished() const { return !finished_.empty(); }
  /// When `tick` is due at the latest.
  std::optional<Moment> wake_at() const;
  std::size_t pending() const { return pending_.size(); }

 private:
  enum class Stage {
    waiting,  ///< to be proposed, again perhaps
    asked,    ///< the leader, which has not answered
    placed,   ///< in a log, at an index with a term
  };
  struct Pending {
    Command command;
    Done done;
    Moment until;
    Stage stage = Stage::waiting;
    Moment due;  ///< waiting: proposed then; asked: the answer is taken for lost
    Duration backoff;
    PeerId asked;
    raft::Index index = 0;
    raft::Term term = 0;
  };
  using Place = std::map<std::uint64_t, Pending>::iterator;

  void propose(Moment now, Place place);
  void propose_waiting(Moment now);
  void put(Moment now, Pending& pending, std::uint64_t number, Replica::Proposed where);
  void again(Moment now, Pending& pending, bool at_once);
  void finish(Place place, Result<Applied> result);
  void expire(Moment now);
  void look_again(Moment at);

  PeerId self_;
  Around around_;
  PeerId leader_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, Pending> pending_;  ///< by number: in the order that they came
  std::multimap<raft::Index, std::uint64_t> placed_;
  std::size_t waiting_ = 0;
  bool proposing_ = false;
  raft::Index applied_ = 0;
  raft::Term applied_term_ = 0;
  std::optional<Moment> next_look_;  ///< nothing waits, and nothing is asked, for longer
  Finished finished_;
};

}  // namespace gpl::peer
