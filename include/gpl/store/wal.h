#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gpl/core/result.h"
#include "gpl/raft/node.h"
#include "gpl/raft/output.h"
#include "gpl/store/disk.h"

namespace gpl::store {

struct Recovered;

struct WalOptions {
  std::uint64_t segment_bytes = std::uint64_t{16} * 1024 * 1024;
  /// Refuse an empty folder: this node had a log, and must not come back without its vote.
  bool must_exist = false;
};

/// The write-ahead log of gpl-wal(5): turns what is to be persisted into operations on a Disk, and
/// finds it again. It performs nothing itself but in `open`. The caller performs what `append`
/// gives before it appends again (one batch in flight), and everything in the order given.
class Wal {
 public:
  struct Opened;
  /// Reads the folder, cuts a torn tail, seals the cut with a new, synced generation. For an empty
  /// folder: a new log with `bootstrap` as its snapshot mark. Code::invalid: damage, with file,
  /// offset, what is wrong and the way out; nothing has been changed then. Code::unsupported:
  /// written by a newer gpl. Code::io.
  static Result<Opened> open(Disk& disk, const raft::Configuration& bootstrap, WalOptions options);

  /// One batch: what these need on disk, ending with a Sync. Requires at least one persist, and
  /// entries that leave no gap and are none that a received snapshot stands for.
  std::vector<Operation> append(const std::vector<raft::Persist>& persists);
  /// The next segment, to be made ahead of use in the background lane; empty when it is there or
  /// being made. `prepared` tells how that went; after a failure not before another segment. A log
  /// that is ahead of its preparation makes the segment within `append`.
  std::vector<Operation> prepare();
  void prepared(const Status& status);
  /// A snapshot at this mark has been saved (it is complete under its final name): the removal of
  /// segments and snapshots that nothing needs any more, for the background lane, from the oldest
  /// on: the log must have no gap. `compacted` tells how that went; until then it gives nothing.
  std::vector<Operation> compact(const raft::SnapshotMark& mark);
  void compacted(const Status& status);
  /// A received snapshot takes the place of the whole log: for the log lane, ending with a Sync.
  /// Requires that no batch is in flight, and that the snapshot is complete under its final name
  /// (or is by operations before these in the lane).
  std::vector<Operation> replace(const raft::SnapshotMark& mark);
  /// What `replace` gave has been performed. Requires that no batch is in flight.
  void replaced() { settle(); }

 private:
  Wal(WalOptions options, std::uint64_t generation)
      : options_(options), generation_(generation), written_generation_(generation) {}

  static Result<Opened> create(Disk& disk, const raft::Configuration& bootstrap,
                               WalOptions options);
  static Result<Opened> resume(Disk& disk, Recovered recovered, WalOptions options);
  /// Operations that begin the next segment, with room for a batch of `batch_bytes`.
  void begin_segment(std::vector<Operation>& operations,
                     const std::optional<raft::SnapshotMark>& mark, std::uint64_t batch_bytes);
  /// The name of a file of zeros that takes `size_bytes`: the one made ahead, or a new one.
  std::string take_spare(std::vector<Operation>& operations, std::uint64_t& size_bytes);
  /// All that was given out before has been performed.
  void settle();
  bool fits(std::uint64_t batch_bytes) const;
  /// There is, or is about to be, a snapshot of this mark.
  void remember(const raft::SnapshotMark& mark);

  WalOptions options_;
  std::uint64_t generation_;
  std::uint64_t written_generation_;  // of the segment that is written
  std::uint64_t number_ = 0;          // of the segment that is written
  std::uint64_t size_bytes_ = 0;      // of its file
  std::uint64_t end_ = 0;             // of what is written in it
  std::uint64_t next_batch_ = 1;
  raft::Index begin_index_ = 0;  // no entry at or before it may come
  raft::Index next_index_ = 1;
  raft::HardState hard_state_;
  std::map<std::uint64_t, raft::Index> highest_;  // index of an entry, by segment; 0: none
  std::uint64_t settled_ = 0;  // the segment in which the last batch is that is known to be on disk
  bool replaced_ = false;      // the log was begun anew since the last settle
  std::vector<raft::SnapshotMark> snapshots_;  // complete or about to be; without configurations
  std::optional<std::string> spare_;           // made ahead, and ready
  std::optional<std::string> preparing_;
  std::optional<std::uint64_t> failed_before_;  // the segment while which no spare could be made
  struct Compaction {
    std::vector<std::uint64_t> segments;
    std::vector<raft::SnapshotMark> snapshots;
  };
  std::optional<Compaction> compacting_;
  std::uint64_t spares_named_ = 0;
};

struct Wal::Opened {
  Wal wal;
  raft::Restored restored;
  std::string snapshot_name;       ///< the newest whole snapshot's file; "": none, a bootstrap mark
  std::vector<std::string> notes;  ///< for the log: what was cut, and where
};

}  // namespace gpl::store
