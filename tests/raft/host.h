#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpl/raft/node.h"

namespace gpl::raft::test {

/// One node and what performs its outputs: a disk that syncs when told to, a state machine that is
/// the list of what was applied, and its snapshots.
struct Host {
  Options options;
  std::optional<Node> node;
  Restored disk;  ///< what a crash leaves
  std::deque<Persist> writing;
  std::uint64_t taken = 0;                             ///< sequence of the last persist
  std::uint64_t synced = 0;                            ///< and of the last synced one
  std::deque<std::pair<std::uint64_t, Message>> held;  ///< to be sent after that sync
  bool syncs = true;     ///< every persist at once; else by Network::sync
  bool installs = true;  ///< a snapshot when its last piece is there; else by Network::install
  std::vector<Entry> applied;
  std::vector<Entry> snapshot;  ///< the state at disk.snapshot
  std::vector<SnapshotWrite> arriving;
  std::vector<SnapshotRead> reads;
  std::vector<Entry> committed;  ///< of the last outputs, until cleared by a test
};

inline std::string to_bytes(const std::vector<Entry>& entries) {
  std::string bytes;
  for (const Entry& entry : entries) {
    bytes += std::to_string(entry.index) + " " + std::to_string(entry.term) + " " +
             std::to_string(static_cast<int>(entry.kind)) + " " +
             std::to_string(entry.data.size()) + " " + entry.data;
  }
  return bytes + ".";
}

inline std::vector<Entry> from_bytes(std::string_view bytes) {
  std::vector<Entry> entries;
  const auto number = [&bytes] {
    const std::size_t end = bytes.find(' ');
    const std::uint64_t value = std::stoull(std::string(bytes.substr(0, end)));
    bytes.remove_prefix(end + 1);
    return value;
  };
  while (bytes != ".") {
    Entry entry;
    entry.index = number();
    entry.term = number();
    entry.kind = static_cast<EntryKind>(number());
    const std::size_t size = number();
    entry.data = bytes.substr(0, size);
    bytes.remove_prefix(size);
    entries.push_back(std::move(entry));
  }
  return entries;
}

/// Writes to what a crash leaves.
inline void write(Restored& disk, const Persist& persist) {
  if (persist.hard_state) disk.hard_state = *persist.hard_state;
  for (const Entry& entry : persist.entries) {
    if (entry.index <= disk.snapshot.index) continue;
    while (!disk.entries.empty() && disk.entries.back().index >= entry.index) {
      disk.entries.pop_back();
    }
    disk.entries.push_back(entry);
  }
}

/// Is the log up to here on disk, with this term there? A snapshot stands for what it replaced.
inline bool holds(const Restored& disk, Index index, Term term) {
  if (index <= disk.snapshot.index) return true;
  const Index place = index - disk.snapshot.index - 1;
  return place < disk.entries.size() && disk.entries[place].term == term;
}

/// Does what a host sends rest on what is on its disk? If not: what does not.
inline std::string unfounded(const Host& host, const Message& message) {
  const HardState& hard = host.disk.hard_state;
  if (const auto* vote = std::get_if<VoteReply>(&message.body); vote && vote->granted) {
    if (hard.term < message.term || (hard.term == message.term && hard.vote != message.to)) {
      return "a vote that is not on disk";
    }
  }
  if (std::holds_alternative<VoteRequest>(message.body) &&
      (hard.term < message.term || (hard.term == message.term && hard.vote != message.from))) {
    return "a request for votes whose own vote is not on disk";
  }
  const auto* reply = std::get_if<AppendReply>(&message.body);
  if (reply && reply->accepted && message.term == host.node->term() &&
      host.disk.snapshot.index + host.disk.entries.size() < reply->match) {
    return "an acknowledgement of what is not on disk";
  }
  return {};
}

}  // namespace gpl::raft::test
