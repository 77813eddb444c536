#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "gpl/core/result.h"
#include "gpl/raft/configuration.h"
#include "gpl/raft/entry.h"
#include "gpl/store/damage.h"
#include "gpl/store/log_reader.h"

namespace gpl::store {

/// No index or term gets so far; above it they could not be counted on.
inline constexpr std::uint64_t highest_number = std::uint64_t{1} << 62;

/// What the log says, batch after batch: the entries that are left, term and vote, where it begins.
class LogState {
 public:
  /// `next_index`: of the first segment's header. Entries before `keep_from` are only counted.
  LogState(raft::Index next_index, raft::Index keep_from)
      : keep_from_(keep_from), first_index_(next_index), next_index_(next_index) {}

  /// Damage for what cannot follow: a gap, a term that goes back, a vote that changes; and for what
  /// raft::Node does not take: an entry of a later term than the node's, an unreadable one.
  Status apply(Batch batch);

  raft::Index first_index() const { return first_index_; }  ///< of the entries that it holds
  raft::Index next_index() const { return next_index_; }    ///< of an entry that would be new
  const raft::HardState& hard_state() const { return hard_state_; }
  /// The last mark: the log begins anew after it.
  const std::optional<raft::SnapshotMark>& mark() const { return mark_; }
  /// From `keep_from` on, consecutive.
  std::vector<raft::Entry>& entries() { return entries_; }
  /// The highest index of an entry in each segment that is not void.
  const std::map<std::uint64_t, raft::Index>& highest() const { return highest_; }
  /// Of the first of `entries`, and of the hard state.
  const Place& first_entry_place() const { return first_entry_place_; }
  const Place& hard_state_place() const { return hard_state_place_; }

 private:
  Status apply(const Batch& batch, LocatedRecord& record);
  Status apply_entry(const Batch& batch, std::uint64_t offset, raft::Entry entry);
  Status apply_hard_state(const Batch& batch, std::uint64_t offset, raft::HardState hard_state);
  Status apply_mark(const Batch& batch, std::uint64_t offset, raft::SnapshotMark mark);

  raft::Index keep_from_;
  raft::Index first_index_;
  raft::Index next_index_;
  raft::HardState hard_state_;
  std::optional<raft::SnapshotMark> mark_;
  std::vector<raft::Entry> entries_;
  std::map<std::uint64_t, raft::Index> highest_;
  Place first_entry_place_;
  Place hard_state_place_;
};

}  // namespace gpl::store
