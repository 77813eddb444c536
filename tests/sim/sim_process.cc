// The processes of a SimWorker: how they begin, run and end, with their guards.

#include <algorithm>
#include <utility>

#include "sim/sim_worker.h"

namespace gpl::sim {

namespace {

constexpr int sigkill = 9, sigterm = 15;

Micros draw(Prng& dice, Micros low, Micros high) {
  return static_cast<Micros>(
      dice.between(static_cast<std::uint64_t>(low), static_cast<std::uint64_t>(high)));
}

/// Most commands are short; some run for longer than a lease.
Micros run_time(Prng& dice) {
  if (dice.one_in(6)) return draw(dice, secs(10), secs(90));
  if (dice.one_in(2)) return draw(dice, millis(500), secs(10));
  return draw(dice, millis(2), millis(500));
}

Outcome own_end(Prng& dice, bool exits) {
  if (dice.one_in(12)) return Exited{static_cast<int>(dice.between(1, 255))};
  if (!exits && dice.one_in(40)) return Signalled{11, true};
  return Exited{0};
}

/// At worst just as long as WorkerOptions::kill_time says.
Micros kill_time(Prng& dice) {
  if (dice.one_in(2)) return draw(dice, 500, millis(50));
  return dice.one_in(2) ? millis(4980) : draw(dice, millis(50), millis(4980));
}

}  // namespace

PeerOffer worker_offer(const std::string& name, PeerId peer) {
  PeerOffer offer;
  offer.name = name;
  offer.host = {name, "linux", "x86_64", "6.1", 4, std::uint64_t{16} << 30};
  const int gpus = 1 + static_cast<int>(peer.value % 2);
  for (int index = 0; index < gpus; ++index) {
    Accelerator gpu;
    gpu.id = "cuda:" + std::to_string(index);
    gpu.vendor = "nvidia";
    gpu.name = "Simulated";
    gpu.index = index;
    gpu.uuid = "GPU-" + std::to_string(peer.value) + "-" + std::to_string(index);
    gpu.memory_bytes = std::uint64_t{8} << 30;
    gpu.usable = true;
    offer.accelerators.push_back(std::move(gpu));
  }
  return offer;
}

void SimWorker::begin(const to_worker::Start& start) {
  world_.tell(name_,
              [&] { return "forks for attempt " + std::to_string(start.fence.attempt.value); });
  const auto [place, first] = processes_.try_emplace(start.fence, Process{start});
  if (!first)
    return world_.violate(name_ + " is to start attempt " +
                          std::to_string(start.fence.attempt.value) + " a second time");
  place->second.keeper = place->second.forked_by = keepers_;
  // The keeper was stopped between its decision and the fork.
  place->second.late = late_outputs_ > 0;
  run_after(start.fence, draw(dice_, 200, 5000));
}

void SimWorker::run_after(const Fence& fence, Micros delay) {
  const auto plan = processes_.at(fence).plan = ++next_plan_;
  world_.after(delay, [this, fence, plan] {
    const auto found = processes_.find(fence);
    if (found != processes_.end() && found->second.plan == plan) run(fence);
  });
}

void SimWorker::run(const Fence& fence) {
  auto& process = processes_.at(fence);
  if (process.term_sent)
    return process_gone(fence, FailedToStart{0, 125, "it was ended before it began"});
  if (!setup_.commands_run && dice_.one_in(50))
    return process_gone(fence, FailedToStart{2, 127, "no such command"});
  // The guard waits for the lock of a device that a process still has which is ending, or cannot.
  if (checker_.locked(peer_, process.start.allocation)) return run_after(fence, millis(100));
  process.begun = true;
  checker_.began(key(fence), process.start.job, process.start.task, process.start.allocation);
  if (process.late || stopped_) checker_.excuse(key(fence));
  sees([this, fence] { worker_->started(clocks(), fence); });
  end_after(fence, run_time(dice_), own_end(dice_, setup_.commands_run));
}

/// Replaces the end that was planned for it.
void SimWorker::end_after(const Fence& fence, Micros delay, Outcome outcome) {
  const auto plan = processes_.at(fence).plan = ++next_plan_;
  world_.after(delay, [this, fence, plan, outcome = std::move(outcome)] {
    const auto found = processes_.find(fence);
    if (found != processes_.end() && found->second.plan == plan) process_gone(fence, outcome);
  });
}

void SimWorker::process_gone(const Fence& fence, const Outcome& outcome) {
  const Process process = processes_.at(fence);
  processes_.erase(fence);
  checker_.ended(key(fence));
  world_.tell(name_, [&] {
    return "attempt " + std::to_string(fence.attempt.value) +
           " is gone: " + std::string(name_of(outcome));
  });
  // Another keeper than the one that forked it learns that it is gone, not how it ended.
  const bool own = process.keeper == process.forked_by;
  const Outcome seen = own ? outcome : Outcome{Lost{"its keeper was killed"}};
  if (process.keeper == keepers_)
    sees([this, fence, seen] { worker_->ended(clocks(), fence, seen); });
}

/// SIGTERM; after `grace` SIGKILL; and some processes sit in the kernel and stay even then.
void SimWorker::terminate(const Fence& fence, Micros grace) {
  const auto found = processes_.find(fence);
  if (found == processes_.end()) return;
  auto& process = found->second;
  process.term_sent = true;
  checker_.ending(key(fence));
  if (!process.begun || process.unkillable) return;
  world_.tell(name_, [&] {
    return "ends attempt " + std::to_string(fence.attempt.value) + " with grace of " +
           std::to_string(grace / 1000) + " ms";
  });
  if (grace > millis(60) && dice_.one_in(3))
    return end_after(fence, draw(dice_, 500, millis(50)), Signalled{sigterm, false});
  process.unkillable = dice_.one_in(setup_.unkillable_one_in);
  if (!process.unkillable)
    return end_after(fence, grace + kill_time(dice_), Signalled{sigkill, false});
  world_.count(Figure::unkillable_processes);
  checker_.excuse(key(fence));
  end_after(fence, grace + draw(dice_, secs(1), secs(60)), Signalled{sigkill, false});
}

}  // namespace gpl::sim
