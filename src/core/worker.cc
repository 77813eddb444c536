#include "gpl/core/worker.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace gpl {

Worker::Worker(WorkerOptions options, RestoredWorker restored, Moment now)
    : options_(options),
      keeper_(std::move(restored.keeper)),
      offer_(std::move(restored.offer)),
      lease_(restored.renewed_at),
      next_session_(restored.first_session) {
  assert(options.silence.count_ms + options.grace.count_ms + options.kill_time.count_ms <
         shortest_lease.count_ms);
  for (const RestoredWorker::Running& running : restored.running)
    live_.emplace(running.fence, Held{running.fence, running.on_loss, running.lease, std::nullopt,
                                      Turn::running, running.started_at, Ending::no});
  for (EndedAttempt& ended : restored.ended) {
    const Fence fence = ended.fence;
    ended_.emplace(fence, std::move(ended));
  }
  open_session(now, options_.hello_again);
}

void Worker::tick(const Clocks& clocks) { due(clocks); }

void Worker::receive(const Clocks& clocks, const LeaderToWorker& message) {
  // First what is due: after a sleep an order must meet the lease as it is by now.
  due(clocks);
  std::visit([&](const auto& m) { take(clocks, m); }, message);
}

void Worker::session_lost(const Clocks& clocks) {
  due(clocks);
  open_session(clocks.now, options_.hello_again);
}

void Worker::offer_changed(const Clocks& clocks, PeerOffer offer) {
  due(clocks);
  offer_ = std::move(offer);
  open_session(clocks.now, options_.hello_again);
}

void Worker::started(const Clocks& clocks, const Fence& fence) {
  const auto held = live_.find(fence);
  if (held != live_.end() && held->second.turn == Turn::starting) {
    held->second.turn = Turn::running;
    held->second.started_at = clocks.at;
    tell(LiveAttempt{fence, clocks.at});
  }
  due(clocks);
}

void Worker::ended(const Clocks& clocks, const Fence& fence, Outcome outcome) {
  const auto entry = live_.find(fence);
  if (entry != live_.end() && entry->second.turn != Turn::waiting) {
    const Held held = std::move(entry->second);
    live_.erase(entry);
    switch (held.ending) {
      case Ending::no:
        break;
      case Ending::ordered:
        outcome = cancelled_by(outcome);
        break;
      case Ending::lease_over:
        outcome = Lost{"its peer lost contact with the leader, and ended it with its lease"};
        break;
    }
    const bool outlived = held.outlived || is_over(clocks.now, held);
    finish(EndedAttempt{fence, held.started_at, std::move(outcome), clocks.at, outlived});
    start_next(clocks, held.slot);
  }
  // Only now: what ended by itself has its own outcome, although its lease may be over too.
  due(clocks);
}

WorkerOutput Worker::take_output() { return std::exchange(output_, WorkerOutput{}); }

Moment Worker::wake_at() const {
  Moment wake = session_wakes_at();
  for (const auto& [fence, held] : live_) {
    if (held.on_loss != OnLoss::retry || held.ending != Ending::no) continue;
    const std::optional<Moment> over = lease_.over_at(effective_lease(held.lease));
    wake = std::min(wake, over ? *over + milliseconds(-time_to_end().count_ms) : Moment{});
  }
  return wake;
}

std::vector<Fence> Worker::live() const {
  std::vector<Fence> fences;
  for (const auto& [fence, held] : live_) fences.push_back(fence);
  return fences;
}

void Worker::due(const Clocks& clocks) {
  leases_due(clocks);
  session_due(clocks.now);
}

Duration Worker::time_to_end() const {
  return milliseconds(options_.grace.count_ms + options_.kill_time.count_ms);
}

bool Worker::is_over(Moment now, const Held& held) const {
  return held.on_loss == OnLoss::retry && lease_.over(now, effective_lease(held.lease));
}

/// Whether its lease leaves just the time to end it.
bool Worker::must_end(Moment now, const Held& held) const {
  return held.on_loss == OnLoss::retry &&
         lease_.over(now + time_to_end(), effective_lease(held.lease));
}

void Worker::leases_due(const Clocks& clocks) {
  std::vector<Fence> unstarted;
  for (auto& [fence, held] : live_) {
    // A later renewal does not undo it.
    if (is_over(clocks.now, held)) held.outlived = true;
    // What was ordered to end before has had its grace, and is gone in time.
    if (held.ending != Ending::no || !must_end(clocks.now, held)) continue;
    if (held.turn == Turn::waiting) {
      unstarted.push_back(fence);
      continue;
    }
    held.ending = Ending::lease_over;
    const std::optional<Moment> over = lease_.over_at(effective_lease(held.lease));
    const Moment kill_at = over.value_or(clocks.now) + milliseconds(-options_.kill_time.count_ms);
    output_.end.push_back(
        {fence, std::clamp(kill_at - clocks.now, milliseconds(0), options_.grace)});
  }
  for (const Fence& fence : unstarted) {
    live_.erase(fence);
    finish({fence, std::nullopt, Lost{"its peer lost contact with the leader before its turn came"},
            clocks.at, false});
  }
}

void Worker::obey_orders(const Clocks& clocks) {
  while (auto order = session_.orders.next())
    std::visit([&](const auto& what) { obey(clocks, what); }, *order);
}

void Worker::obey(const Clocks& clocks, const to_worker::Start& order) {
  if (live_.contains(order.fence) || ended_.contains(order.fence)) return;
  const Fence slot{order.fence.epoch, order.slot};
  Held held{slot,
            order.description.on_loss,
            order.description.lease,
            order,
            Turn::waiting,
            std::nullopt,
            Ending::no};
  if (must_end(clocks.now, held)) {
    finish({order.fence, std::nullopt, Lost{"its order came when its peer had no lease for it"},
            clocks.at, false});
    return;
  }
  live_.emplace(order.fence, std::move(held));
  start_next(clocks, slot);
}

void Worker::obey(const Clocks& clocks, const to_worker::End& order) {
  if (ended_.contains(order.fence)) return;
  const auto entry = live_.find(order.fence);
  if (entry == live_.end() || entry->second.turn == Turn::waiting) {
    if (entry != live_.end()) live_.erase(entry);
    finish({order.fence, std::nullopt, Cancelled{}, clocks.at, false});
  } else if (entry->second.ending == Ending::no) {
    entry->second.ending = Ending::ordered;
    output_.end.push_back({order.fence, options_.grace});
  }
}

void Worker::obey(const Clocks&, const to_worker::Acknowledge& order) {
  if (ended_.erase(order.fence) > 0) output_.forget.push_back(order.fence);
}

/// The outcome is kept, and told, until it is acknowledged.
void Worker::finish(EndedAttempt ended) {
  output_.keep.push_back(ended);
  tell(ended);
  const Fence fence = ended.fence;
  ended_.insert_or_assign(fence, std::move(ended));
}

/// Starts the first attempt of the slot that waits, unless one has its turn.
void Worker::start_next(const Clocks& clocks, const Fence& slot) {
  Held* next = nullptr;
  for (auto& [fence, held] : live_) {
    if (held.slot != slot) continue;
    if (held.turn != Turn::waiting) return;
    if (next == nullptr && !must_end(clocks.now, held)) next = &held;
  }
  if (next == nullptr) return;
  next->turn = Turn::starting;
  output_.start.push_back(std::move(*next->order));
  next->order.reset();
}

}  // namespace gpl
