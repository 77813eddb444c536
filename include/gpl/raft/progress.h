#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "gpl/core/time.h"
#include "gpl/raft/configuration.h"
#include "gpl/raft/entry.h"

namespace gpl::raft {

/// The sending of a snapshot to one follower: one piece read or in flight at a time.
struct SnapshotSending {
  SnapshotMark mark;
  std::uint64_t offset = 0;
  bool reading = true;  ///< asked of the performer; else sent, and not answered
  Moment since;         ///< of that
};

/// A follower as its leader sees it.
class Progress {
 public:
  enum class State {
    probe,      ///< where its log and ours part is not known: one message at a time
    replicate,  ///< entries are sent without waiting for answers
    snapshot,   ///< needs what the log no longer has
  };

  Progress(NodeId id, Index last_index, Moment since)
      : id_(id), since_(since), next_(last_index + 1) {}

  NodeId id() const { return id_; }
  State state() const { return state_; }
  /// Synced there, and the same as here, up to this index.
  Index match() const { return match_; }
  /// To be sent next.
  Index next() const { return next_; }

  /// It has answered what was sent in this heartbeat round.
  void heard(Moment now, std::uint64_t round) {
    heard_ = now;
    if (round > answered_round_) answered_round_ = round;
  }
  /// The newest round that it has answered. 0: none.
  std::uint64_t answered_round() const { return answered_round_; }
  std::optional<Moment> last_heard() const { return heard_; }
  /// Has it answered, or been added, within this long?
  bool is_live(Moment now, Duration within) const { return now - heard_.value_or(since_) < within; }

  /// May entries be sent now? In probe: not before the last were answered.
  bool may_send(std::size_t inflight_limit) const;
  /// An Append with entries up to `last`, or none after `last`, was sent with this commit index.
  void sent(Index last, bool with_entries, Index commit);
  /// As far as it was told what is committed.
  Index told_commit() const { return told_commit_; }
  bool has_inflight() const { return !inflight_.empty(); }

  /// It has everything up to `match`. True: more than was known.
  bool accepted(Index match);
  /// It refused; our logs may agree up to `agreed`. An answer to something older changes nothing.
  void refused(Index agreed);
  /// What was sent is taken for lost.
  void fall_back();

  /// Of a learner, at the only voter: nothing is committed before it has it too.
  bool is_awaited() const { return awaited_since_.has_value(); }
  /// It is awaited from now on; if it was before: it has told of something new, or had all.
  void await(Moment now) { awaited_since_ = now; }
  void await_no_more() { awaited_since_.reset(); }
  /// So long it is awaited, and has told of nothing new. Requires is_awaited().
  Duration awaited_for(Moment now) const { return now - *awaited_since_; }

  void begin_snapshot(SnapshotMark mark, Moment now);
  /// Only in State::snapshot.
  SnapshotSending& sending() { return *sending_; }
  const SnapshotSending& sending() const { return *sending_; }
  /// The snapshot, or what it has, reaches up to where the log goes on.
  void end_snapshot();

 private:
  NodeId id_;
  Moment since_;
  std::optional<Moment> heard_;
  std::uint64_t answered_round_ = 0;
  State state_ = State::probe;
  Index match_ = 0;
  Index next_;
  Index told_commit_ = 0;
  bool asked_ = false;          ///< in probe: sent, not answered
  std::deque<Index> inflight_;  ///< the last index of each Append with entries not yet acknowledged
  std::optional<SnapshotSending> sending_;
  std::optional<Moment> awaited_since_;
};

}  // namespace gpl::raft
