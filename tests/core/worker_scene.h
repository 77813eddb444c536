#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gpl/core/worker.h"

namespace gpl::worker_test {

inline constexpr Leadership first_leader{0, 3};
inline constexpr Leadership later_leader{0, 4};
inline constexpr Duration no_time = milliseconds(0);

inline Fence fence(std::uint64_t number) { return {0, AttemptId{number}}; }

inline to_worker::Start start_of(std::uint64_t number, OnLoss on_loss = OnLoss::wait,
                                 Duration lease = seconds(60)) {
  to_worker::Start order;
  order.fence = fence(number);
  order.slot = AttemptId{number};
  order.task = TaskId{number};
  order.description.on_loss = on_loss;
  order.description.lease = lease;
  return order;
}

/// A worker, the leader that it talks to, and the clock.
struct Scene {
  std::int64_t now_ms = 1'000'000;
  Worker worker;
  WorkerOutput out;   ///< of the last event
  SessionId session;  ///< of the last hello
  std::uint64_t ordered = 0;

  explicit Scene(RestoredWorker restored = {"k1", SessionId{100}, {}, {}, {}, {}})
      : worker(WorkerOptions{}, std::move(restored), Moment{now_ms}) {
    take();
  }

  Clocks clocks() const { return {Moment{now_ms}, Instant{now_ms + 5'000'000}}; }
  void take() {
    out = worker.take_output();
    for (const WorkerToLeader& message : out.send) {
      if (const auto* hello = std::get_if<to_leader::Hello>(&message)) {
        session = hello->session;
        ordered = 0;
      }
    }
  }
  void receive(const LeaderToWorker& message) {
    worker.receive(clocks(), message);
    take();
  }
  void welcome(Leadership leadership = first_leader) {
    receive(to_worker::Welcome{session, leadership, 1});
  }
  void grant(Moment asked_at, Leadership leadership = first_leader) {
    receive(to_worker::Granted{session, leadership, asked_at, no_time, ordered});
  }
  void open(Leadership leadership = first_leader) {
    welcome(leadership);
    grant(Moment{now_ms}, leadership);
  }
  void order(std::variant<to_worker::Start, to_worker::End, to_worker::Acknowledge> what,
             Leadership leadership = first_leader) {
    receive(to_worker::Order{session, leadership, ++ordered, std::move(what)});
  }
  void started(std::uint64_t number) {
    worker.started(clocks(), fence(number));
    take();
  }
  void ended(std::uint64_t number, Outcome outcome) {
    worker.ended(clocks(), fence(number), std::move(outcome));
    take();
  }
  void run(std::uint64_t number, OnLoss on_loss = OnLoss::wait) {
    order(start_of(number, on_loss));
    started(number);
  }
  /// To that moment, with every tick that is due before.
  void wait_until(std::int64_t moment_ms) {
    WorkerOutput all;
    const auto append = [](auto& to, const auto& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    while (worker.wake_at().since_boot_ms <= moment_ms) {
      now_ms = std::max(now_ms, worker.wake_at().since_boot_ms);
      worker.tick(clocks());
      take();
      append(all.keep, out.keep);
      append(all.start, out.start);
      append(all.end, out.end);
      append(all.send, out.send);
    }
    now_ms = moment_ms;
    out = all;
  }
  template <class M>
  std::vector<M> sent() const {
    std::vector<M> found;
    for (const WorkerToLeader& message : out.send)
      if (const auto* m = std::get_if<M>(&message)) found.push_back(*m);
    return found;
  }
  std::vector<EndedAttempt> told_ended() const {
    std::vector<EndedAttempt> found;
    for (const to_leader::Told& told : sent<to_leader::Told>())
      if (const auto* ended = std::get_if<EndedAttempt>(&told.attempt)) found.push_back(*ended);
    return found;
  }
  std::vector<Fence> starts() const {
    std::vector<Fence> fences;
    for (const to_worker::Start& order : out.start) fences.push_back(order.fence);
    return fences;
  }
};

using Fences = std::vector<Fence>;
using Ends = std::vector<EndProcesses>;

}  // namespace gpl::worker_test
