#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "gpl/core/time.h"
#include "gpl/raft/log.h"
#include "gpl/raft/output.h"

namespace gpl::raft {

/// What is not on disk yet: what has changed since the last `take`, and the persists that were
/// taken and are not synced. Several may be under way, and a suffix that one of them writes may
/// meanwhile have been replaced: that one then no longer counts for it.
class PersistQueue {
 public:
  /// `synced`: the last index on disk.
  explicit PersistQueue(Index synced) : written_(synced), synced_index_(synced) {}

  /// Entries from `first` on are new, and replace what was there.
  void entries_changed(Index first);
  void hard_state_changed() { hard_state_changed_ = true; }
  /// A snapshot has taken the place of the log.
  void reset(Index index);

  /// Everything that has changed, as the next persist.
  std::optional<Persist> take(const Log& log, const HardState& hard_state, Moment now);
  /// The sequence of the persist that holds, or will hold, all that has changed until now.
  std::uint64_t sequence() const { return dirty(*this) ? last_taken_ + 1 : last_taken_; }
  /// This persist and all before it are on disk. What was never taken is ignored.
  void synced(std::uint64_t sequence);

  /// On disk, and the same as in memory, up to here.
  Index synced_index() const { return synced_index_; }
  std::uint64_t synced_sequence() const { return synced_sequence_; }
  bool hard_state_synced() const {
    return !hard_state_changed_ && hard_state_sequence_ <= synced_sequence_;
  }
  /// Nothing has changed, nothing is under way.
  bool idle() const { return outstanding_.empty() && !dirty(*this); }
  /// When the oldest persist under way was taken.
  std::optional<Moment> waiting_since() const;

 private:
  struct Outstanding {
    std::uint64_t sequence = 0;
    Index covers = 0;  ///< once synced, the disk agrees with memory up to here
    Moment taken;
  };
  static bool dirty(const PersistQueue& queue) {
    return queue.hard_state_changed_ || queue.changed_from_ != 0;
  }

  std::deque<Outstanding> outstanding_;
  Index written_;           ///< handed out in a persist, or on disk, up to here
  Index changed_from_ = 0;  ///< 0: no entries have changed
  bool hard_state_changed_ = false;
  std::uint64_t hard_state_sequence_ = 0;
  std::uint64_t last_taken_ = 0;
  std::uint64_t synced_sequence_ = 0;
  Index synced_index_;
};

}  // namespace gpl::raft
