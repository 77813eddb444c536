#include "gpl/store/wal.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "gpl/store/record.h"
#include "gpl/store/segment.h"
#include "gpl/store/snapshot_file.h"

namespace gpl::store {
namespace {

std::uint64_t batch_bytes(const std::vector<raft::Persist>& persists) {
  std::uint64_t sum = 0;
  for (const raft::Persist& persist : persists) {
    if (persist.hard_state) sum += record_bytes(*persist.hard_state);
    for (const raft::Entry& entry : persist.entries) sum += record_bytes(entry);
  }
  return sum;
}

raft::SnapshotMark without_configuration(const raft::SnapshotMark& mark) {
  return {mark.index, mark.term, {}};
}

}  // namespace

std::vector<Operation> Wal::append(const std::vector<raft::Persist>& persists) {
  assert(!persists.empty());
  settle();
  std::vector<Operation> operations;
  // A batch has at least one record: when there is nothing else, the hard state again.
  const std::uint64_t bytes =
      std::max<std::uint64_t>(batch_bytes(persists), record_bytes(hard_state_));
  if (!fits(bytes)) begin_segment(operations, std::nullopt, bytes);

  BatchWriter batch(generation_, next_batch_, end_);
  for (const raft::Persist& persist : persists) {
    if (persist.hard_state) {
      hard_state_ = *persist.hard_state;
      batch.add(hard_state_);
    }
    for (const raft::Entry& entry : persist.entries) {
      assert(entry.index > begin_index_ && entry.index <= next_index_);
      batch.add(entry);
      next_index_ = entry.index + 1;
      highest_[number_] = std::max(highest_[number_], entry.index);
    }
  }
  if (batch.empty()) batch.add(hard_state_);
  Write write{segment_name(number_), end_, batch.finish()};
  end_ += write.bytes.size();
  ++next_batch_;
  operations.push_back(std::move(write));
  operations.push_back(Sync{segment_name(number_)});
  return operations;
}

std::vector<Operation> Wal::prepare() {
  if (spare_ || preparing_ || failed_before_ == number_) return {};
  preparing_ = spare_name(++spares_named_);
  return {Create{*preparing_, options_.segment_bytes}};
}

void Wal::prepared(const Status& status) {
  assert(preparing_);
  if (status) spare_ = preparing_;
  // On a full disk it would be tried, and undone, with every batch.
  if (!status) failed_before_ = number_;
  preparing_.reset();
}

std::vector<Operation> Wal::compact(const raft::SnapshotMark& mark) {
  remember(mark);
  if (compacting_) return {};
  compacting_.emplace();
  std::vector<Operation> operations;
  for (const auto& [number, highest] : highest_) {
    if (number >= settled_ || highest > mark.index) break;
    operations.push_back(Remove{segment_name(number)});
    compacting_->segments.push_back(number);
  }
  for (const raft::SnapshotMark& snapshot : snapshots_) {
    if (snapshot.index >= mark.index) continue;
    operations.push_back(Remove{snapshot_name(snapshot)});
    compacting_->snapshots.push_back(snapshot);
  }
  if (operations.empty()) compacting_.reset();
  return operations;
}

// After a failure all are removed again: those that are gone already do no harm.
void Wal::compacted(const Status& status) {
  if (!compacting_) return;
  const Compaction done = *std::exchange(compacting_, std::nullopt);
  if (!status) return;
  for (const std::uint64_t number : done.segments) highest_.erase(number);
  std::erase_if(snapshots_, [&](const raft::SnapshotMark& snapshot) {
    return std::find(done.snapshots.begin(), done.snapshots.end(), snapshot) !=
           done.snapshots.end();
  });
}

void Wal::remember(const raft::SnapshotMark& mark) {
  const raft::SnapshotMark named = without_configuration(mark);
  if (std::find(snapshots_.begin(), snapshots_.end(), named) == snapshots_.end()) {
    snapshots_.push_back(named);
  }
}

std::vector<Operation> Wal::replace(const raft::SnapshotMark& mark) {
  settle();
  std::vector<Operation> operations;
  ++generation_;
  begin_index_ = mark.index;
  next_index_ = mark.index + 1;
  begin_segment(operations, mark, 0);
  replaced_ = true;
  remember(mark);
  return operations;
}

void Wal::settle() {
  settled_ = number_;
  if (!std::exchange(replaced_, false)) return;
  for (auto& [number, highest] : highest_) {
    if (number < number_) highest = 0;
  }
}

// The onward record of the segment must have a place after any batch.
bool Wal::fits(std::uint64_t batch_bytes) const {
  return batch_bytes + onward_bytes <= size_bytes_ - end_;
}

std::string Wal::take_spare(std::vector<Operation>& operations, std::uint64_t& size_bytes) {
  if (spare_ && size_bytes <= options_.segment_bytes) {
    size_bytes = options_.segment_bytes;
    return *std::exchange(spare_, std::nullopt);
  }
  size_bytes = std::max(size_bytes, options_.segment_bytes);
  std::string name = spare_name(++spares_named_);
  operations.push_back(Create{name, size_bytes});
  return name;
}

void Wal::begin_segment(std::vector<Operation>& operations,
                        const std::optional<raft::SnapshotMark>& mark, std::uint64_t batch_bytes) {
  BatchWriter opening(generation_, next_batch_, segment_header_bytes);
  opening.add(hard_state_);
  if (mark) opening.add(*mark);
  const std::string opening_bytes = opening.finish();
  SegmentHeader header;
  header.number = number_ + 1;
  header.generation = generation_;
  header.size_bytes = segment_header_bytes + opening_bytes.size() + batch_bytes + onward_bytes;
  header.first_batch = next_batch_;
  header.next_index = next_index_;
  header.previous_end = end_;
  const std::string spare = take_spare(operations, header.size_bytes);
  const std::string name = segment_name(header.number);
  operations.push_back(Write{spare, 0, encode(header) + opening_bytes});
  operations.push_back(Sync{spare});
  operations.push_back(Rename{spare, name});
  if (number_ > 0 && fits(0)) {
    // `generation_` may be the new one already: this record belongs to the old segment.
    BatchWriter onward(written_generation_, next_batch_, end_);
    onward.add(Onward{header.number});
    operations.push_back(Write{segment_name(number_), end_, onward.finish()});
    operations.push_back(Sync{segment_name(number_)});
  }
  written_generation_ = generation_;
  number_ = header.number;
  size_bytes_ = header.size_bytes;
  end_ = segment_header_bytes + opening_bytes.size();
  ++next_batch_;
  highest_.try_emplace(number_, 0);
}

}  // namespace gpl::store
