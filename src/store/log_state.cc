#include "log_state.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "gpl/raft/log.h"
#include "gpl/store/damage.h"

namespace gpl::store {

Status LogState::apply(Batch batch) {
  highest_.try_emplace(batch.segment, 0);
  for (LocatedRecord& record : batch.records) {
    if (Status applied = apply(batch, record); !applied) return applied;
  }
  return success();
}

Status LogState::apply(const Batch& batch, LocatedRecord& record) {
  if (auto* entry = std::get_if<raft::Entry>(&record.body)) {
    return apply_entry(batch, record.offset, std::move(*entry));
  }
  if (const auto* hard_state = std::get_if<raft::HardState>(&record.body)) {
    return apply_hard_state(batch, record.offset, *hard_state);
  }
  if (auto* mark = std::get_if<raft::SnapshotMark>(&record.body)) {
    return apply_mark(batch, record.offset, std::move(*mark));
  }
  return success();
}

Status LogState::apply_entry(const Batch& batch, std::uint64_t offset, raft::Entry entry) {
  const raft::Index index = entry.index;
  const raft::Index after_mark = mark_ ? mark_->index : 0;
  const auto wrong = [&](const std::string& what) {
    return damage(segment_name(batch.segment), offset, "entry " + std::to_string(index) + what);
  };
  if (index <= after_mark || index > next_index_ || index > highest_number) {
    return wrong(" cannot stand here: the next one is " + std::to_string(next_index_) +
                 ", and it may take the place of one after " + std::to_string(after_mark));
  }
  if (entry.term > hard_state_.term) {
    return wrong(" is of term " + std::to_string(entry.term) + ", and the node had got to term " +
                 std::to_string(hard_state_.term));
  }
  if (!raft::is_readable(entry)) return wrong(" holds no configuration, as it should");
  while (!entries_.empty() && entries_.back().index >= index) entries_.pop_back();
  if (!entries_.empty() && entry.term < entries_.back().term) {
    return wrong(" is of term " + std::to_string(entry.term) + ", and the one before it of term " +
                 std::to_string(entries_.back().term));
  }
  if (index >= keep_from_) {
    if (entries_.empty()) first_entry_place_ = {segment_name(batch.segment), offset};
    entries_.push_back(std::move(entry));
  }
  first_index_ = std::min(first_index_, index);
  next_index_ = index + 1;
  raft::Index& highest = highest_[batch.segment];
  highest = std::max(highest, index);
  return success();
}

Status LogState::apply_hard_state(const Batch& batch, std::uint64_t offset,
                                  raft::HardState hard_state) {
  const bool back = hard_state.term < hard_state_.term;
  const bool changed = hard_state.term == hard_state_.term && hard_state_.vote.value != 0 &&
                       hard_state.vote != hard_state_.vote;
  if (hard_state.term > highest_number) {
    return damage(segment_name(batch.segment), offset,
                  "no term gets as far as " + std::to_string(hard_state.term));
  }
  if (back || changed) {
    return damage(segment_name(batch.segment), offset,
                  "term " + std::to_string(hard_state.term) + " with a vote for " +
                      std::to_string(hard_state.vote.value) + " cannot follow term " +
                      std::to_string(hard_state_.term) + " with a vote for " +
                      std::to_string(hard_state_.vote.value));
  }
  hard_state_ = hard_state;
  hard_state_place_ = {segment_name(batch.segment), offset};
  return success();
}

Status LogState::apply_mark(const Batch& batch, std::uint64_t offset, raft::SnapshotMark mark) {
  if (mark.index > highest_number) {
    return damage(segment_name(batch.segment), offset,
                  "no index gets as far as " + std::to_string(mark.index));
  }
  entries_.clear();
  for (auto& [segment, highest] : highest_) highest = 0;
  next_index_ = mark.index + 1;
  first_index_ = next_index_;
  mark_ = std::move(mark);
  return success();
}

}  // namespace gpl::store
