#include "gpl/peer/commit_queue.h"

#include <utility>

namespace gpl::peer {

CommitQueue::CommitQueue(store::Wal& wal, store::Committer& committer, Told told)
    : wal_(wal), committer_(committer), told_(std::move(told)) {}

void CommitQueue::add(std::optional<raft::Persist> persist, std::vector<raft::Message> then_send) {
  if (!persist && then_send.empty()) return;
  if (!persist && idle()) {
    for (auto& message : then_send) told_.send(std::move(message));
    return;
  }
  waiting_.push_back({std::move(persist), std::nullopt, std::move(then_send)});
}

void CommitQueue::replace(const raft::SnapshotMark& mark) {
  waiting_.push_back({std::nullopt, mark, {}});
}

void CommitQueue::pump() {
  if (in_flight_ || failed_) return;
  // All that these wait for has been synced.
  while (!waiting_.empty() && !waiting_.front().persist && !waiting_.front().replace) {
    const Item item = std::move(waiting_.front());
    waiting_.pop_front();
    for (const auto& message : item.then_send) told_.send(message);
  }
  if (waiting_.empty()) return;
  auto operations = next_batch();
  in_flight_ = true;
  committer_.submit(store::Committer::Lane::log, std::move(operations),
                    [this](Status status) { finished(std::move(status)); });
  prepare_segment();
}

/// A replacement is a batch of its own: the log that it ends is written before, a new one after it.
std::vector<store::Operation> CommitQueue::next_batch() {
  if (waiting_.front().replace) {
    batch_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
    return wal_.replace(*batch_.front().replace);
  }
  std::vector<raft::Persist> persists;
  while (!waiting_.empty() && !waiting_.front().replace) {
    Item& item = waiting_.front();
    if (item.persist) persists.push_back(std::move(*item.persist));
    // The sequence is needed when the batch is done, its entries are not.
    if (item.persist) item.persist = raft::Persist{persists.back().sequence, std::nullopt, {}};
    batch_.push_back(std::move(item));
    waiting_.pop_front();
  }
  ++batches_;
  return wal_.append(persists);
}

void CommitQueue::finished(Status status) {
  if (!status.ok()) {
    failed_ = true;
    told_.failed(std::move(status).error());
    return;
  }
  // What follows from this may add more, and pump: it goes with the next batch, after all is told.
  const auto batch = std::exchange(batch_, {});
  for (const Item& item : batch) {
    if (item.persist) told_.synced(item.persist->sequence);
    for (const auto& message : item.then_send) told_.send(message);
    if (item.replace) told_.replaced(*item.replace);
  }
  in_flight_ = false;
  pump();
}

void CommitQueue::prepare_segment() {
  auto operations = wal_.prepare();
  if (operations.empty()) return;
  // A segment that could not be made ahead (a full disk, say) is made when it is needed, or fails
  // there.
  committer_.submit(store::Committer::Lane::background, std::move(operations),
                    [this](const Status& status) { wal_.prepared(status); });
}

}  // namespace gpl::peer
