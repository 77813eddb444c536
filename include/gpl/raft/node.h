#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpl/core/result.h"
#include "gpl/core/time.h"
#include "gpl/raft/configuration.h"
#include "gpl/raft/message.h"
#include "gpl/raft/output.h"

namespace gpl::raft {

/// A mistake that the simulator's tests make on purpose, to see that it is found. None in a
/// product.
enum class PlantedBug { none, commit_old_term_by_counting };

struct Options {
  NodeId id;
  /// A follower campaigns after this to twice this without a leader (drawn anew each time); a
  /// leader that has not heard from a majority for this long steps down.
  Duration election_timeout = milliseconds(1000);
  Duration heartbeat = milliseconds(100);
  std::size_t append_limit_bytes = std::size_t{256} * 1024;    ///< of the entries in one Append
  std::size_t inflight_limit = 64;                             ///< unanswered Appends a follower
  std::size_t snapshot_piece_bytes = std::size_t{256} * 1024;  ///< of one InstallSnapshot
  std::size_t kept_entries = 1024;  ///< before a snapshot's mark, for any that are just behind
  std::size_t long_kept_entries = 262144;  ///< at most, for followers that answer and need more
  /// Of the committed entries in one Output: what is behind, after a restart say, is applied in
  /// steps.
  std::size_t apply_limit_bytes = std::size_t{256} * 1024;
  std::uint64_t seed = 0;  ///< of the election timeouts, with the id
  PlantedBug planted_bug = PlantedBug::none;
};

/// What a restart finds on disk; a new node finds a bootstrap snapshot mark (index 0, term 0) whose
/// configuration is {itself} for a founder, empty for one that is to be added.
struct Restored {
  HardState hard_state;
  SnapshotMark snapshot;       ///< the state machine has been restored to it
  std::vector<Entry> entries;  ///< after the snapshot, consecutive
  friend bool operator==(const Restored&, const Restored&) = default;
};

enum class Role { follower, pre_candidate, candidate, leader };
std::string_view name_of(Role role);

/// One member's consensus (Ongaro and Ousterhout 2014; Ongaro's thesis 2014): a state machine
/// without input or output. Feed it an event, take the output, perform it, feed the next. After
/// every event the output is to be taken (after several it is all of theirs); `wake_at` says when
/// `tick` is due without another event. Moments never go back.
class Node {
 public:
  /// Requires an id, limits and a heartbeat above 0, an election timeout not below that, and what
  /// was once persisted. A lone voter begins to campaign here: take the output.
  Node(Options options, Restored restored, Moment now);
  ~Node();
  Node(Node&&) noexcept;
  Node& operator=(Node&&) noexcept;

  // Events.
  void tick(Moment now);
  void receive(Moment now, Message message);
  /// The persist of this sequence, and all before it, is on disk.
  void synced(Moment now, std::uint64_t sequence);
  /// Appends a command. Code::busy when this node is not the leader or is handing over,
  /// Code::too_large over the limit of an entry. The index is committed, or lost to another term.
  Result<Index> propose(Moment now, std::string data);
  /// Asks for a membership change. A new node is first added as a learner, and promoted when it has
  /// caught up: it answers, and has synced all that the leader's log had when the heartbeat round
  /// before the present one began. Code::busy (not the leader, another change or the term's no-op
  /// not yet committed, the learner not caught up), Code::invalid (no change, or not one step from
  /// the present).
  Result<Index> add_learner(Moment now, NodeId id);
  Result<Index> promote(Moment now, NodeId id);
  /// A voter or a learner. A leader that removes itself leads until the entry is committed, then
  /// steps down and hands over. Code::invalid for the last voter.
  Result<Index> remove(Moment now, NodeId id);
  /// Hands leadership to a voter, once that has the whole log. No proposals are taken meanwhile;
  /// given up after an election timeout. Code::busy when not the leader, Code::invalid for no
  /// voter.
  Status transfer(Moment now, NodeId to);
  /// This node can be reached anew; what was on its way there is lost. It is asked at once.
  void reached(Moment now, NodeId id);
  /// The state machine at `mark` is on disk as the newest snapshot: the log may be cut up to it,
  /// but for what followers are about to need.
  void snapshot_saved(const SnapshotMark& mark);
  /// The piece asked for with a SnapshotRead. `total_bytes` is the snapshot's. Empty data: this
  /// snapshot is no longer there; the node begins anew with the newest after a while. So it does
  /// when it is not told anything.
  void snapshot_piece(Moment now, const SnapshotRead& read, std::string data,
                      std::uint64_t total_bytes);
  /// The snapshot has taken the place of the log and the state machine, on disk and in memory.
  void snapshot_installed(Moment now, const SnapshotMark& mark);
  /// What arrived is damaged, and was thrown away before anything was replaced by it: asks anew.
  void snapshot_refused(Moment now, const SnapshotMark& mark);

  Output take_output();
  /// When `tick` is to be called at the latest.
  Moment wake_at() const;

  // What it is, for the ones around it.
  NodeId id() const;
  Role role() const;
  Term term() const;
  NodeId leader() const;  ///< 0: not known
  /// Leader, and its no-op has committed: its state machine is up to date with all before its term.
  bool leads() const;
  Index commit_index() const;
  Index last_index() const;
  Index synced_index() const;
  Index first_index() const;  ///< of the log kept; earlier ones are in the snapshot
  const Configuration& configuration() const;
  /// Leader: how far a follower's synced log is known to agree. 0: unknown.
  Index match_of(NodeId id) const;
  /// Leader: when the follower last answered. Nothing: never in this term.
  std::optional<Moment> heard_from(NodeId id) const;
  /// Leader: when the newest heartbeat round that a majority has answered was begun: no other node
  /// led before that moment. A lone voter: the moment of the last event. Nothing: none answered yet
  /// in this term, or not the leader.
  std::optional<Moment> confirmed_at() const;
  /// Leader: the follower answers, is past probing and snapshots, and has all that the log had when
  /// the heartbeat round before this one began.
  bool has_caught_up(NodeId id) const;
  /// Leader that is the only voter: a learner that answers has all that is committed, and nothing
  /// more is committed without it while it keeps up.
  bool is_kept_twice() const;
  /// The newest configuration in the log is committed: the next change may begin.
  bool configuration_is_committed() const;
  /// Leader: a follower that answers is being sent a snapshot.
  bool sends_snapshot() const;
  /// Of an entry in the log or the one before the first. Nothing: not there.
  std::optional<Term> term_at(Index index) const;
  /// For a snapshot of the state machine after applying this entry. Nothing: not in the log, or not
  /// yet given out as committed.
  std::optional<SnapshotMark> mark_at(Index index) const;

  struct State;  ///< for raft's own sources

 private:
  std::unique_ptr<State> state_;
};

}  // namespace gpl::raft
