#include "gpl/raft/persist_queue.h"

#include <algorithm>

namespace gpl::raft {

void PersistQueue::entries_changed(Index first) {
  changed_from_ = changed_from_ == 0 ? first : std::min(changed_from_, first);
  if (first > written_) return;
  written_ = first - 1;
  synced_index_ = std::min(synced_index_, first - 1);
  for (Outstanding& persist : outstanding_) persist.covers = std::min(persist.covers, first - 1);
}

void PersistQueue::reset(Index index) {
  // Persists under way write to the log that is gone.
  for (Outstanding& persist : outstanding_) persist.covers = 0;
  changed_from_ = 0;
  written_ = index;
  synced_index_ = index;
}

std::optional<Persist> PersistQueue::take(const Log& log, const HardState& hard_state, Moment now) {
  if (!dirty(*this)) return std::nullopt;
  Persist persist;
  persist.sequence = ++last_taken_;
  if (hard_state_changed_) {
    persist.hard_state = hard_state;
    hard_state_sequence_ = persist.sequence;
    hard_state_changed_ = false;
  }
  if (changed_from_ != 0) {
    persist.entries = log.copy_range(changed_from_, log.last_index());
    written_ = log.last_index();
    changed_from_ = 0;
  }
  outstanding_.push_back({persist.sequence, written_, now});
  return persist;
}

void PersistQueue::synced(std::uint64_t sequence) {
  while (!outstanding_.empty() && outstanding_.front().sequence <= sequence) {
    synced_index_ = std::max(synced_index_, outstanding_.front().covers);
    synced_sequence_ = outstanding_.front().sequence;
    outstanding_.pop_front();
  }
}

std::optional<Moment> PersistQueue::waiting_since() const {
  if (outstanding_.empty()) return std::nullopt;
  return outstanding_.front().taken;
}

}  // namespace gpl::raft
