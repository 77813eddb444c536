#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gpl/raft/configuration.h"
#include "gpl/raft/entry.h"
#include "gpl/raft/message.h"

namespace gpl::raft {

/// What must be on disk: in one piece or, after a crash, not at all or a prefix of the entries.
struct Persist {
  std::uint64_t sequence = 0;           ///< from 1, without gaps; told back with `Node::synced`
  std::optional<HardState> hard_state;  ///< before the entries
  std::vector<Entry> entries;  ///< consecutive; they replace what the log has from the first one on
  friend bool operator==(const Persist&, const Persist&) = default;
};

/// A piece of the newest snapshot that the node wants to send: told back with
/// `Node::snapshot_piece`.
struct SnapshotRead {
  NodeId to;
  SnapshotMark mark;
  std::uint64_t offset = 0;
  std::size_t limit_bytes = 0;
  friend bool operator==(const SnapshotRead&, const SnapshotRead&) = default;
};

/// A piece of a snapshot that arrived. The pieces of a mark come in order, without gaps; offset 0
/// always begins anew (another mark, or the same from another node). After the last one the
/// snapshot takes the place of log and state machine, is synced, and is told back with
/// `Node::snapshot_installed`.
struct SnapshotWrite {
  SnapshotMark mark;
  std::uint64_t offset = 0;
  std::string data;
  bool last = false;
  friend bool operator==(const SnapshotWrite&, const SnapshotWrite&) = default;
};

/// What a node wants done after an event. To be performed whole, in the order of the members:
struct Output {
  /// 1. Send: rests on nothing that is not on disk.
  std::vector<Message> send_now;
  /// 2. Write and sync. Writing may go on while later events are fed; order is kept.
  std::optional<Persist> persist;
  std::vector<SnapshotWrite> snapshot_writes;
  /// 3. Send once all `persist` up to and with this output's has been synced.
  std::vector<Message> send_synced;
  /// 4. Apply to the state machine, in order; then start and kill what follows from it. They are on
  /// disk already, and do not wait for `persist`.
  std::vector<Entry> committed;
  /// Whenever it suits: read, and tell.
  std::vector<SnapshotRead> snapshot_reads;

  bool empty() const {
    return send_now.empty() && !persist && snapshot_writes.empty() && send_synced.empty() &&
           committed.empty() && snapshot_reads.empty();
  }
};

}  // namespace gpl::raft
