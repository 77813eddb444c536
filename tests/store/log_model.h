#pragma once

#include <doctest/doctest.h>

#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gpl/raft/output.h"
#include "gpl/store/committer.h"
#include "gpl/store/disk.h"
#include "gpl/store/snapshot_file.h"
#include "gpl/store/wal.h"

inline std::ostream& operator<<(std::ostream& out, const gpl::Error& error) {
  return out << error.message;
}

namespace gpl::store {

/// What a log must say after these persists: as simple as can be.
struct LogModel {
  raft::HardState hard_state;
  raft::SnapshotMark begin;  ///< the log begins after it
  std::map<raft::Index, raft::Entry> entries;

  void apply(const raft::Persist& persist) {
    if (persist.hard_state) hard_state = *persist.hard_state;
    for (const raft::Entry& entry : persist.entries) {
      entries.erase(entries.lower_bound(entry.index), entries.end());
      entries[entry.index] = entry;
    }
  }
  void replace(const raft::SnapshotMark& mark) {
    begin = mark;
    entries.clear();
  }
  raft::Index last_index() const { return entries.empty() ? begin.index : entries.rbegin()->first; }
  raft::Term term_of(raft::Index index) const {
    return index == begin.index ? begin.term : entries.at(index).term;
  }

  /// What a restart must find when `snapshot` is the newest one.
  raft::Restored restored(const raft::SnapshotMark& snapshot) const {
    raft::Restored out{hard_state, snapshot, {}};
    for (auto entry = entries.upper_bound(snapshot.index); entry != entries.end(); ++entry) {
      out.entries.push_back(entry->second);
    }
    return out;
  }
};

inline raft::Persist persist_of(std::optional<raft::HardState> hard_state,
                                std::vector<raft::Entry> entries) {
  return {0, hard_state, std::move(entries)};
}

inline raft::Entry entry_of(raft::Index index, raft::Term term, std::string data) {
  return {index, term, raft::EntryKind::command, std::move(data)};
}

/// Stops at the first operation that fails.
inline Status perform_all(Disk& disk, const std::vector<Operation>& operations) {
  for (const Operation& operation : operations) {
    if (Status done = disk.perform(operation); !done) return done;
  }
  return success();
}

inline std::vector<Operation> drain(const Committer::Source& source) {
  std::vector<Operation> operations;
  for (;;) {
    Result<std::optional<Operation>> next = source();
    REQUIRE(next.ok());
    if (!next.value()) return operations;
    operations.push_back(*std::move(next).value());
  }
}

/// A snapshot of this mark, the state being these parts.
inline std::vector<Operation> snapshot_operations(const raft::SnapshotMark& mark,
                                                  std::vector<std::string> parts) {
  std::size_t next = 0;
  return drain(write_snapshot(mark, [parts, next]() mutable -> std::optional<std::string> {
    return next == parts.size() ? std::nullopt : std::optional(parts[next++]);
  }));
}

inline const raft::Configuration three_voters{{raft::NodeId{1}, raft::NodeId{2}, raft::NodeId{3}},
                                              {}};

}  // namespace gpl::store
