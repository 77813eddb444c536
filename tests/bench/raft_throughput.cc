// Commands per second through three nodes in one process: the cost of the consensus alone. Messages
// and syncs take no time, or a given time on a virtual clock.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gpl/raft/node.h"

using namespace gpl;

namespace {

/// Three nodes and what is on its way between them, in virtual microseconds.
class Trio {
 public:
  Trio(std::uint64_t network_us, std::uint64_t disk_us)
      : network_us_(network_us), disk_us_(disk_us) {
    const raft::Configuration voters{{{1}, {2}, {3}}, {}};
    for (std::uint64_t id = 1; id <= 3; ++id) {
      raft::Options options;
      options.id = {id};
      options.seed = id;
      nodes_.emplace_back(options, raft::Restored{{}, {0, 0, voters}, {}}, now());
    }
    while (!nodes_[leader_].leads()) {
      advance(1000);
      settle();
      for (std::size_t i = 0; i < 3; ++i) {
        nodes_[i].tick(now());
        perform(i);
        if (nodes_[i].role() == raft::Role::leader) leader_ = i;
      }
    }
  }

  std::uint64_t time_us() const { return time_us_; }
  raft::Node& leader() { return nodes_[leader_]; }
  /// Proposes this many at once; returns the last one's index.
  raft::Index propose(std::size_t count, const std::string& data) {
    Result<raft::Index> index = leader().propose(now(), data);
    for (std::size_t i = 1; i < count && index; ++i) {
      if (auto next = leader().propose(now(), data); !next) index = std::move(next).error();
    }
    perform(leader_);
    return index.value() + count - 1;
  }
  /// Lets everything happen up to and with this time.
  void advance(std::uint64_t by_us) {
    const auto until = time_us_ + by_us;
    while (!events_.empty() && events_.begin()->first.first <= until) {
      auto node = events_.extract(events_.begin());
      time_us_ = node.key().first;
      happen(std::move(node.mapped()));
    }
    time_us_ = until;
    for (std::size_t i = 0; i < 3; ++i)
      if (nodes_[i].wake_at() <= now()) {
        nodes_[i].tick(now());
        perform(i);
      }
  }
  /// Without delays: until nothing is on its way any more.
  void settle() {
    while (!ready_.empty()) {
      auto event = std::move(ready_.front());
      ready_.pop_front();
      happen(std::move(event));
    }
  }
  const std::vector<std::pair<raft::Index, std::uint64_t>>& committed() const { return committed_; }

 private:
  struct Event {
    std::size_t node;
    std::uint64_t sequence;  // of a sync; 0: the message
    raft::Message message;
  };

  Moment now() const { return Moment{static_cast<std::int64_t>(time_us_ / 1000)}; }
  void later(std::uint64_t delay_us, Event event) {
    if (delay_us == 0)
      ready_.push_back(std::move(event));
    else
      events_.emplace(std::pair(time_us_ + delay_us, next_event_++), std::move(event));
  }
  void happen(Event event) {
    const auto at = event.node;
    if (event.sequence == 0) {
      nodes_[at].receive(now(), std::move(event.message));
    } else {
      nodes_[at].synced(now(), event.sequence);
      synced_until_[at] = event.sequence;
      auto waiting = std::move(unsent_[at]);
      unsent_[at].clear();
      for (auto& [sequence, message] : waiting)
        if (sequence <= event.sequence)
          send(std::move(message));
        else
          unsent_[at].emplace_back(sequence, std::move(message));
    }
    perform(at);
  }
  void send(raft::Message message) {
    const std::size_t to = message.to.value - 1;
    later(network_us_, {to, 0, std::move(message)});
  }
  void perform(std::size_t i) {
    for (auto output = nodes_[i].take_output(); !output.empty(); output = nodes_[i].take_output()) {
      for (auto& message : output.send_now) send(std::move(message));
      if (output.persist) newest_[i] = output.persist->sequence;
      for (auto& message : output.send_synced)
        if (output.persist || synced_until_[i] < newest_[i])
          unsent_[i].emplace_back(newest_[i], std::move(message));
        else
          send(std::move(message));
      if (output.persist) later(disk_us_, {i, output.persist->sequence, {}});
      if (i == leader_)
        for (const auto& entry : output.committed) committed_.emplace_back(entry.index, time_us_);
    }
  }

  std::uint64_t network_us_;
  std::uint64_t disk_us_;
  std::uint64_t time_us_ = 1000;
  std::uint64_t next_event_ = 0;
  std::vector<raft::Node> nodes_;
  std::size_t leader_ = 0;
  std::deque<Event> ready_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Event> events_;
  std::vector<std::pair<std::uint64_t, raft::Message>> unsent_[3];
  std::uint64_t newest_[3] = {0, 0, 0};
  std::uint64_t synced_until_[3] = {0, 0, 0};
  std::vector<std::pair<raft::Index, std::uint64_t>> committed_;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void without_delay(std::size_t batch) {
  Trio trio(0, 0);
  const std::string data(100, 'x');
  const std::size_t total = 512'000;
  const auto start = std::chrono::steady_clock::now();
  raft::Index last = 0;
  for (std::size_t done = 0; done < total; done += batch) {
    last = trio.propose(batch, data);
    trio.settle();
  }
  const auto took = seconds_since(start);
  std::printf("no delay, %3zu at a time: %8.0f commands/s%s\n", batch,
              static_cast<double>(total) / took,
              trio.leader().commit_index() >= last ? "" : "  (NOT ALL COMMITTED)");
}

void with_delay(std::size_t batch) {
  Trio trio(100, 100);
  const std::string data(100, 'x');
  const std::size_t total = 30'000;
  std::map<raft::Index, std::uint64_t> proposed;
  const auto start = std::chrono::steady_clock::now();
  const auto first_us = trio.time_us();
  for (std::size_t done = 0; done < total; done += batch) {
    const auto last = trio.propose(batch, data);
    proposed[last] = trio.time_us();
    trio.advance(100);
  }
  const auto sent_us = trio.time_us() - first_us;
  for (int i = 0; i < 10'000 && trio.leader().commit_index() < proposed.rbegin()->first; ++i)
    trio.advance(100);
  const auto took = seconds_since(start);
  std::vector<std::uint64_t> delays;
  for (const auto& [index, at] : trio.committed())
    if (proposed.count(index)) delays.push_back(at - proposed[index]);
  std::sort(delays.begin(), delays.end());
  if (delays.empty()) return;
  std::printf(
      "100 us disk and network, %3zu each 100 us: %8.0f commands/s of real time, %.0f of virtual;"
      " committed after %llu us (median), %llu us (longest)\n",
      batch, static_cast<double>(total) / took,
      static_cast<double>(total) * 1e6 / static_cast<double>(sent_us),
      static_cast<unsigned long long>(delays[delays.size() / 2]),
      static_cast<unsigned long long>(delays.back()));
}

}  // namespace

int main() {
  without_delay(1);
  without_delay(64);
  with_delay(1);
  with_delay(64);
}
