#include "gpl/core/scheduler.h"

#include <cassert>
#include <utility>

#include "scheduler_pass.h"

namespace gpl {

Requirement asked_in_cluster(const Requirement& requirement) {
  Requirement asked = requirement;
  if (!asked.cpus) asked.cpus = 1;
  return asked;
}

Allocation allocation_of(const Requirement& asked, const Placement& placement,
                         const PeerView& peer) {
  Allocation allocation;
  allocation.cpus = asked.cpus.value_or(0);
  allocation.memory_bytes = asked.memory_bytes.value_or(0);
  for (const DeviceChoice& device : placement.devices)
    allocation.devices.push_back({device, placement.shared_memory_bytes});
  if (placement.environment)
    allocation.environment = peer.environments[*placement.environment].root;
  return allocation;
}

void Scheduler::restart() { *this = Scheduler(); }

Scheduler::Pass Scheduler::pass(const ClusterState& state, Instant now, std::size_t checks,
                                const std::set<PeerId>& away) {
  assert(checks > 0);
  PassAtWork work(state, now, checks, away);
  if (!next_) begin_round(state);
  Pass pass;
  pass.complete = go_on(state, work);
  pass.checks = work.checks();
  pass.places = work.take_places();
  if (!pass.complete) return pass;
  next_.reset();
  // What came between two passes of a round may concern jobs that the first has passed.
  pass.complete = state.digest() == digest_;
  return pass;
}

void Scheduler::begin_round(const ClusterState& state) {
  next_.reset();
  if (kept_) before_ = std::exchange(kept_, std::nullopt);
  if (before_) before_->free_by.reset();
  digest_ = state.digest();
}

/// To the end of the queue (true), or until there are no checks left. What a peer is kept for comes
/// before what is behind it.
bool Scheduler::go_on(const ClusterState& state, PassAtWork& work) {
  using Look = PassAtWork::Look;
  if (!work.has_room()) return true;
  std::optional<JobId> looked_at;
  if (next_ && kept_) {
    const QueuePlace first = kept_->job;
    looked_at = first.job;
    const Look look = state.is_placeable(first) ? work.look_at(first) : Look::done;
    if (look == Look::out_of_checks) {
      next_ = first;
      return false;
    }
    before_ = std::exchange(kept_, std::nullopt);
    if (look == Look::stuck) keep(first, work);
    // What was kept is free for all that this round has passed.
    if (look == Look::done) begin_round(state);
    work.allow_another();
  }
  std::optional<QueuePlace> job = next_;
  if (!job || !state.is_placeable(*job)) job = state.placeable_after(job);
  for (; job; job = state.placeable_after(job)) {
    if (job->job == looked_at) continue;
    if (!work.has_room()) return true;
    const Look look = work.look_at(*job);
    if (look == Look::out_of_checks) {
      next_ = job;
      return false;
    }
    if (look == Look::stuck && !kept_) keep(*job, work);
  }
  return true;
}

void Scheduler::keep(const QueuePlace& job, PassAtWork& work) {
  std::optional<PassAtWork::KeptPeer> before;
  if (before_ && before_->job == job) before = {before_->peer, before_->free_by};
  if (const auto peer = work.reserve(job, before)) kept_ = {job, peer->peer, peer->free_by};
}

}  // namespace gpl
