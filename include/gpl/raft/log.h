#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "gpl/raft/configuration.h"
#include "gpl/raft/entry.h"

namespace gpl::raft {

/// Whether the log takes it: a configuration entry must decode.
bool is_readable(const Entry& entry);

/// The log in memory: a snapshot mark that stands for its beginning, the entries after the base (at
/// or before the mark), and the configurations that these bring. Knows nothing of disks.
class Log {
 public:
  /// `entries` are consecutive, the first is at mark.index + 1, and all are readable.
  Log(SnapshotMark mark, std::vector<Entry> entries);

  Index first_index() const { return base_index_ + 1; }
  Index last_index() const { return base_index_ + entries_.size() - stale_; }
  Term last_term() const { return last_index() == base_index_ ? base_term_ : entries_.back().term; }
  /// Of an entry or of the base. Nothing: not there.
  std::optional<Term> term_at(Index index) const;
  /// Requires first_index() <= index <= last_index().
  const Entry& at(Index index) const;
  /// The last index, not after `index`, whose term is not above `term`. Before the base terms are
  /// not known: then the answer is the one before it, or `index` where that is less.
  Index last_not_above(Index index, Term term) const;
  /// Copies of the entries from `from` on: at least one, others while they fit `limit_bytes`.
  std::vector<Entry> copy(Index from, std::size_t limit_bytes) const;
  /// Copies of the entries in [from, to].
  std::vector<Entry> copy_range(Index from, Index to) const;

  /// Requires index == last_index() + 1, a term not below the last, and a readable entry.
  void append(Entry entry);
  /// Requires first_index() <= from.
  void truncate(Index from);
  /// The snapshot at `mark` is there: drops entries before `keep_from`, but none after the mark.
  /// Drops more, up to the mark, of a log with more than `limit_bytes`. A mark that is older than
  /// the present one, or is not in the log, changes nothing. The memory is given back with later
  /// appends, a little each: a cut of 100,000 entries would take milliseconds.
  void compact(const SnapshotMark& mark, Index keep_from, std::size_t limit_bytes);
  /// Begins anew after `mark`, without entries.
  void reset(SnapshotMark mark);

  const SnapshotMark& mark() const { return mark_; }
  /// The newest in the log: in force, committed or not.
  const Configuration& configuration() const { return configurations_.back().second; }
  /// The entry that brought it; the mark's index or less if a snapshot did.
  Index configuration_index() const { return configurations_.back().first; }
  /// In force at an index; as of the oldest known one for what lies before that.
  const Configuration& configuration_at(Index index) const;

 private:
  SnapshotMark mark_;
  Index base_index_ = 0;
  Term base_term_ = 0;
  /// Position in `entries_`.
  std::ptrdiff_t place_of(Index index) const {
    return static_cast<std::ptrdiff_t>(stale_ + (index - base_index_ - 1));
  }
  /// The entry at `base` and all before it are not of the log any more.
  void drop_to(Index base);
  void free_stale(std::size_t at_most);

  std::deque<Entry> entries_;
  std::size_t stale_ = 0;  ///< entries at the front that are not of the log any more
  std::size_t bytes_ = 0;  ///< of the data of all of `entries_`
  std::vector<std::pair<Index, Configuration>> configurations_;  ///< by index, never empty
};

}  // namespace gpl::raft
