#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "gpl/raft/output.h"
#include "gpl/store/committer.h"
#include "gpl/store/wal.h"

namespace gpl::peer {

/// Group commit: what is to be persisted while a batch is on its way to the disk goes with the next
/// one, together; messages that rest on it wait with it. Must outlive the committer's callbacks.
class CommitQueue {
 public:
  /// What is told, in order, once it is so. After `failed` nothing more is told.
  struct Told {
    std::function<void(raft::Message)> send;
    std::function<void(std::uint64_t sequence)> synced;
    std::function<void(const raft::SnapshotMark&)> replaced;
    std::function<void(Error)> failed;
  };

  CommitQueue(store::Wal& wal, store::Committer& committer, Told told);

  /// The messages go out once the persist, and all before it, has been synced.
  void add(std::optional<raft::Persist> persist, std::vector<raft::Message> then_send);
  /// An installed snapshot takes the place of the log, after all that was added before.
  void replace(const raft::SnapshotMark& mark);
  /// Begins the next batch, if none is on its way. To be called when all of an event has been
  /// added.
  void pump();

  bool idle() const { return !in_flight_ && waiting_.empty(); }
  std::uint64_t batches() const { return batches_; }

 private:
  struct Item {
    std::optional<raft::Persist> persist;
    std::optional<raft::SnapshotMark> replace;
    std::vector<raft::Message> then_send;
  };

  std::vector<store::Operation> next_batch();
  void finished(Status status);
  void prepare_segment();

  store::Wal& wal_;
  store::Committer& committer_;
  Told told_;
  std::deque<Item> waiting_;
  std::vector<Item> batch_;  ///< on its way
  bool in_flight_ = false;
  bool failed_ = false;
  std::uint64_t batches_ = 0;
};

}  // namespace gpl::peer
