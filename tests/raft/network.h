#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gpl/core/prng.h"
#include "gpl/raft/node.h"
#include "host.h"

namespace gpl::raft::test {

inline NodeId node(std::uint64_t number) { return NodeId{number}; }

inline Configuration voters(std::uint64_t count) {
  Configuration configuration;
  for (std::uint64_t i = 1; i <= count; ++i) configuration.voters.push_back(NodeId{i});
  return configuration;
}

template <class Type>
bool is(const Message& message) {
  return std::holds_alternative<Type>(message.body);
}

/// Hosts, the messages between them, and one clock. What must always hold is looked at after every
/// event: `violation` is the first thing that did not.
class Network {
 public:
  /// Nodes 1 to `count`, all of them voters, as after a common start.
  explicit Network(std::uint64_t count, Options options = {}, std::uint64_t seed = 1)
      : options_(options), seed_(seed) {
    for (std::uint64_t i = 1; i <= count; ++i) add(node(i), voters(count));
  }

  void add(NodeId id, Configuration bootstrap) {
    Host& host = hosts_[id];
    host.options = options_;
    host.options.id = id;
    host.options.seed = seed_ * 1000 + id.value;
    host.disk.snapshot.configuration = std::move(bootstrap);
    restart(id);
  }

  Host& host(NodeId id) { return hosts_.at(id); }
  Node& at(NodeId id) { return *host(id).node; }
  Moment now() const { return now_; }
  std::deque<Message>& wire() { return wire_; }
  std::map<NodeId, Host>& hosts() { return hosts_; }

  // Faults.
  void crash(NodeId id) {
    Host& host = hosts_.at(id);
    host.node.reset();
    host.writing.clear();
    host.held.clear();
    host.arriving.clear();
    host.reads.clear();
  }
  /// The oldest persist under way reaches the disk with so many of its entries, and is not told.
  void tear(NodeId id, std::size_t entries) {
    Host& host = hosts_.at(id);
    if (host.writing.empty()) return;
    Persist& persist = host.writing.front();
    persist.entries.resize(std::min(entries, persist.entries.size()));
    write(host.disk, persist);
  }
  void restart(NodeId id) {
    Host& host = hosts_.at(id);
    host.taken = host.synced = 0;
    host.applied = host.snapshot;
    host.node.emplace(host.options, host.disk, now_);
    ++host.options.seed;
    perform(id);
  }
  void cut(NodeId from, NodeId to) { cuts_.insert({from, to}); }
  void cut_off(NodeId id) {
    for (const auto& [other, host] : hosts_) {
      cut(id, other);
      cut(other, id);
    }
  }
  void heal() { cuts_.clear(); }
  /// Messages for which this is true are lost.
  std::function<bool(const Message&)> loses = [](const Message&) { return false; };

  // Events.
  void tick(NodeId id) {
    at(id).tick(now_);
    perform(id);
  }
  void deliver(Message message) {
    if (cuts_.contains({message.from, message.to}) || loses(message)) return;
    const auto to = hosts_.find(message.to);
    if (to == hosts_.end() || !to->second.node) return;
    const NodeId id = message.to;
    at(id).receive(now_, std::move(message));
    perform(id);
  }
  /// The oldest persist under way is on disk.
  void sync(NodeId id) {
    Host& host = hosts_.at(id);
    if (host.writing.empty()) return;
    write(host.disk, host.writing.front());
    host.synced = host.writing.front().sequence;
    host.writing.pop_front();
    at(id).synced(now_, host.synced);
    perform(id);
  }
  void sync_all(NodeId id) {
    while (!host(id).writing.empty()) sync(id);
  }
  /// Takes the snapshot of the applied state.
  void save_snapshot(NodeId id) {
    Host& host = hosts_.at(id);
    if (host.applied.empty() || host.applied.back().index <= host.disk.snapshot.index) return;
    const std::optional<SnapshotMark> mark = at(id).mark_at(host.applied.back().index);
    REQUIRE(mark);
    set_snapshot(host, *mark, host.applied);
    at(id).snapshot_saved(*mark);
    perform(id);
  }
  void install(NodeId id) {
    sync_all(id);
    Host& host = hosts_.at(id);
    std::string bytes;
    for (const SnapshotWrite& write : host.arriving) bytes += write.data;
    const SnapshotMark mark = host.arriving.back().mark;
    host.arriving.clear();
    host.applied = from_bytes(bytes);
    for (const Entry& entry : host.applied) check_committed(entry, at(id).term());
    host.disk.entries.clear();
    set_snapshot(host, mark, host.applied);
    at(id).snapshot_installed(now_, mark);
    perform(id);
  }
  void read(NodeId id) {
    Host& host = hosts_.at(id);
    const SnapshotRead read = host.reads.front();
    host.reads.erase(host.reads.begin());
    std::string bytes;
    if (read.mark == host.disk.snapshot) bytes = to_bytes(host.snapshot);
    const std::size_t offset = std::min<std::size_t>(read.offset, bytes.size());
    at(id).snapshot_piece(now_, read, bytes.substr(offset, read.limit_bytes), bytes.size());
    perform(id);
  }
  /// The index, or 0 when it was refused.
  Index propose(NodeId id, std::string data) {
    const Result<Index> index = at(id).propose(now_, std::move(data));
    perform(id);
    return index ? index.value() : 0;
  }

  // Many events.
  /// Delivers and performs until nothing is under way.
  void settle() {
    for (int i = 0; i < 1'000'000; ++i) {
      if (!wire_.empty()) {
        Message message = std::move(wire_.front());
        wire_.pop_front();
        deliver(std::move(message));
        continue;
      }
      const auto reader = std::find_if(hosts_.begin(), hosts_.end(), [](const auto& entry) {
        return entry.second.node && !entry.second.reads.empty();
      });
      if (reader == hosts_.end()) return;
      read(reader->first);
    }
    FAIL("messages without end");
  }
  /// Lets time pass, 10 ms a step.
  void run(Duration duration) {
    for (const Moment end = now_ + duration; now_ < end;) {
      now_ = now_ + milliseconds(10);
      for (const auto& [id, host] : hosts_) {
        if (host.node && host.node->wake_at() <= now_) tick(id);
      }
      settle();
    }
  }
  void pass(Duration duration) { now_ = now_ + duration; }
  /// Lets this one be elected: its time is up first, and nobody else's.
  void elect(NodeId id) {
    settle();
    pass(options_.election_timeout);
    now_ = std::max(now_, at(id).wake_at());
    for (int i = 0; i < 10 && at(id).role() != Role::leader; ++i) {
      tick(id);
      settle();
      pass(options_.heartbeat);
    }
  }
  /// The leader with the highest term; 0: none.
  NodeId leader() {
    NodeId found;
    for (auto& [id, host] : hosts_) {
      if (!host.node || host.node->role() != Role::leader) continue;
      if (found == NodeId{} || at(found).term() < host.node->term()) found = id;
    }
    return found;
  }

  std::string violation;
  const std::map<Index, Entry>& committed() const { return committed_; }
  std::size_t terms_led() const { return leaders_.size(); }

 private:
  void violate(std::string what) {
    if (violation.empty()) violation = std::move(what);
  }

  static void set_snapshot(Host& host, const SnapshotMark& mark, std::vector<Entry> state) {
    host.disk.snapshot = mark;
    host.snapshot = std::move(state);
    std::erase_if(host.disk.entries, [&](const Entry& entry) { return entry.index <= mark.index; });
  }

  void check_committed(const Entry& entry, Term term) {
    const auto [known, is_new] = committed_.insert({entry.index, entry});
    if (!is_new && known->second != entry) {
      violate("entry " + std::to_string(entry.index) + " was committed twice, differently");
    }
    if (is_new) committed_in_ = term;
  }

  void apply(NodeId id, Host& host, const Entry& entry) {
    check_committed(entry, at(id).term());
    if (entry.index != (host.applied.empty() ? 1 : host.applied.back().index + 1)) {
      violate("node " + std::to_string(id.value) + " skips to " + std::to_string(entry.index));
    }
    if (entry.index > host.node->synced_index()) violate("applied before it was synced");
    host.applied.push_back(entry);
    host.committed.push_back(entry);
  }

  void perform(NodeId id) {
    Host& host = hosts_.at(id);
    Output output = host.node->take_output();
    for (Message& message : output.send_now) send(host, std::move(message));
    if (output.persist) {
      if (output.persist->sequence != ++host.taken) violate("a sequence with a gap");
      host.writing.push_back(std::move(*output.persist));
    }
    for (Message& message : output.send_synced) {
      host.held.push_back({host.taken, std::move(message)});
    }
    while (!host.held.empty() && host.held.front().first <= host.synced) {
      send(host, std::move(host.held.front().second));
      host.held.pop_front();
    }
    for (const Entry& entry : output.committed) apply(id, host, entry);
    for (SnapshotRead& read : output.snapshot_reads) host.reads.push_back(std::move(read));
    check_leader(id, *host.node);
    bool is_whole = false;
    for (SnapshotWrite& piece : output.snapshot_writes) {
      if (piece.offset == 0) host.arriving.clear();
      is_whole = piece.last;
      host.arriving.push_back(std::move(piece));
    }
    if (host.syncs && !host.writing.empty()) sync_all(id);
    if (is_whole && host.installs) install(id);
  }

  void send(const Host& host, Message message) {
    if (const std::string what = unfounded(host, message); !what.empty()) violate(what);
    wire_.push_back(std::move(message));
  }

  void check_leader(NodeId id, const Node& node) {
    if (node.role() != Role::leader) return;
    if (host(id).disk.hard_state.term < node.term()) violate("it leads in a term not on disk");
    check_majority(node);
    const auto [known, is_new] = leaders_.insert({node.term(), id});
    if (known->second != id) violate("two leaders in term " + std::to_string(node.term()));
    if (is_new) check_leader_is_complete(node);
  }

  /// What a leader commits is on the disks of a majority.
  void check_majority(const Node& node) {
    const Index index = node.commit_index();
    if (index <= counted_ || !node.term_at(index)) return;
    counted_ = index;
    std::size_t disks = 0;
    for (const NodeId id : node.configuration().voters) {
      if (holds(host(id).disk, index, *node.term_at(index))) ++disks;
    }
    if (disks < node.configuration().quorum()) {
      violate("entry " + std::to_string(index) + " committed without a majority");
    }
  }

  /// All that was ever committed is in a new leader's log (leader completeness).
  void check_leader_is_complete(const Node& node) {
    // One elected late in an older term than the last commit's need not have it.
    if (committed_.empty() || node.term() <= committed_in_) return;
    const Entry& last = committed_.rbegin()->second;
    const std::optional<Term> term = node.term_at(last.index);
    if (term != last.term && last.index >= node.first_index()) {
      violate("a leader without the committed entry " + std::to_string(last.index));
    }
  }

  Options options_;
  std::uint64_t seed_;
  Moment now_{1000};
  std::map<NodeId, Host> hosts_;
  std::deque<Message> wire_;
  std::set<std::pair<NodeId, NodeId>> cuts_;
  std::map<Index, Entry> committed_;
  Term committed_in_ = 0;  ///< the last of them, or before
  Index counted_ = 0;      ///< committed by a leader, and looked at
  std::map<Term, NodeId> leaders_;
};

}  // namespace gpl::raft::test
