#include "gpl/raft/log.h"

#include <algorithm>
#include <cassert>

namespace gpl::raft {

bool is_readable(const Entry& entry) {
  return entry.kind != EntryKind::configuration || decode_configuration(entry.data).ok();
}

Log::Log(SnapshotMark mark, std::vector<Entry> entries) {
  reset(std::move(mark));
  for (Entry& entry : entries) append(std::move(entry));
}

std::optional<Term> Log::term_at(Index index) const {
  if (index == base_index_) return base_term_;
  if (index < base_index_ || index > last_index()) return std::nullopt;
  return at(index).term;
}

const Entry& Log::at(Index index) const {
  assert(index > base_index_ && index <= last_index());
  return entries_[static_cast<std::size_t>(place_of(index))];
}

Index Log::last_not_above(Index index, Term term) const {
  const Index end = std::min(index, last_index());
  if (end < base_index_) return end;
  // Terms never descend, so this is a search and not a walk.
  const auto begin = entries_.begin() + place_of(base_index_ + 1);
  const auto stop = entries_.begin() + place_of(end + 1);
  const auto above = std::upper_bound(begin, stop, term,
                                      [](Term t, const Entry& entry) { return t < entry.term; });
  if (above == begin && base_term_ > term) return base_index_ - 1;
  return base_index_ + static_cast<Index>(above - begin);
}

std::vector<Entry> Log::copy(Index from, std::size_t limit_bytes) const {
  Index to = from;
  if (from <= last_index()) {
    std::size_t bytes = at(from).data.size();
    while (to < last_index()) {
      bytes += at(to + 1).data.size() + sizeof(Entry);
      if (bytes > limit_bytes) break;
      ++to;
    }
  }
  return copy_range(from, std::min(to, last_index()));
}

std::vector<Entry> Log::copy_range(Index from, Index to) const {
  std::vector<Entry> entries;
  if (to < from) return entries;
  assert(from > base_index_ && to <= last_index());
  const auto begin = entries_.begin() + place_of(from);
  entries.assign(begin, begin + static_cast<std::ptrdiff_t>(to - from + 1));
  return entries;
}

void Log::append(Entry entry) {
  assert(entry.index == last_index() + 1 && entry.term >= last_term());
  if (entry.kind == EntryKind::configuration) {
    Result<Configuration> configuration = decode_configuration(entry.data);
    assert(configuration.ok());
    configurations_.emplace_back(entry.index, std::move(configuration).value());
  }
  bytes_ += entry.data.size();
  entries_.push_back(std::move(entry));
  free_stale(2);
}

void Log::truncate(Index from) {
  assert(from > base_index_);
  while (last_index() >= from) {
    bytes_ -= entries_.back().data.size();
    entries_.pop_back();
  }
  while (configurations_.size() > 1 && configurations_.back().first >= from) {
    configurations_.pop_back();
  }
}

void Log::compact(const SnapshotMark& mark, Index keep_from, std::size_t limit_bytes) {
  if (mark.index < mark_.index || term_at(mark.index) != mark.term) return;
  mark_ = mark;
  if (keep_from > first_index()) drop_to(std::min(mark.index, keep_from - 1));
  if (bytes_ > limit_bytes) free_stale(stale_);
  while (base_index_ < mark.index && bytes_ > limit_bytes) {
    drop_to(base_index_ + 1);
    free_stale(stale_);
  }
  // The one in force at the base stays: a truncation never reaches behind it.
  auto first = configurations_.begin();
  while (first + 1 != configurations_.end() && (first + 1)->first <= base_index_) ++first;
  configurations_.erase(configurations_.begin(), first);
}

void Log::drop_to(Index base) {
  if (base == base_index_) return;
  base_term_ = at(base).term;
  stale_ += base - base_index_;
  base_index_ = base;
}

void Log::free_stale(std::size_t at_most) {
  for (; stale_ > 0 && at_most > 0; --stale_, --at_most) {
    bytes_ -= entries_.front().data.size();
    entries_.pop_front();
  }
}

void Log::reset(SnapshotMark mark) {
  entries_.clear();
  stale_ = bytes_ = 0;
  base_index_ = mark.index;
  base_term_ = mark.term;
  configurations_.clear();
  configurations_.emplace_back(mark.index, mark.configuration);
  mark_ = std::move(mark);
}

const Configuration& Log::configuration_at(Index index) const {
  auto at = configurations_.end() - 1;
  while (at != configurations_.begin() && at->first > index) --at;
  return at->second;
}

}  // namespace gpl::raft
