#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpl/core/cluster_state.h"
#include "gpl/core/prng.h"
#include "state_fixture.h"

namespace gpl::test {

/// Commands at random, sense and nonsense mixed, from a seed and the state that they meet.
class History {
 public:
  explicit History(std::uint64_t seed) : prng_(seed) {}

  Command next(const ClusterState& state) {
    now_ms_ += static_cast<std::int64_t>(prng_.below(5));
    switch (prng_.below(16)) {
      case 0:
      case 1:
        return submit(state);
      case 2:
      case 3:
      case 4:
      case 5:
      case 6: {
        const JobId job = some_job(state);
        return command::Place{job, some_placing(state, job), now()};
      }
      case 7:
      case 8:
        return command::Start{some_fence(state), now()};
      case 9:
      case 10:
      case 11:
        return report(state);
      case 12:
        if (prng_.one_in(2)) return command::Cancel{some_job(state), some_tasks(), now()};
        if (prng_.one_in(3)) return command::Hold{some_job(state), now()};
        return command::Release{some_job(state), now()};
      case 13:
        return peer_up();
      case 14:
        return loss(state);
      default:
        return rare(state);
    }
  }

 private:
  Instant now() const { return Instant{now_ms_}; }
  PeerId some_peer() { return PeerId{prng_.between(10, 14)}; }
  JobId some_job(const ClusterState& state) {
    const auto placeable = state.placeable(JobId{}, 10);
    if (!placeable.empty() && !prng_.one_in(3)) return placeable[prng_.below(placeable.size())];
    const std::uint64_t next = state.next_job().value;
    const std::uint64_t back = prng_.below(12);
    return JobId{back > next ? 0 : next - back};
  }
  std::uint64_t some_task() { return prng_.below(9); }
  std::optional<TaskRange> some_tasks() {
    if (prng_.one_in(2)) return std::nullopt;
    return tasks(some_task(), some_task());
  }

  DeviceClaim some_claim() {
    DeviceClaim claim;
    claim.device.index = static_cast<int>(prng_.below(4));
    if (claim.device.index == 2 && !prng_.one_in(4))
      claim.device.slice = prng_.one_in(2) ? "MIG-a" : "MIG-b";
    if (prng_.one_in(2)) claim.shared_memory_bytes = prng_.between(0, 45);
    return claim;
  }
  Allocation some_allocation() {
    Allocation allocation;
    allocation.cpus = static_cast<int>(prng_.below(4));
    if (prng_.one_in(3)) allocation.memory_bytes = prng_.below(3) * 30;
    while (prng_.one_in(3)) allocation.devices.push_back(some_claim());
    if (prng_.one_in(8)) allocation.environment = prng_.one_in(3) ? "/opt" : "/usr";
    return allocation;
  }
  command::Placing some_placing(const ClusterState& state, JobId job) {
    TaskRange range = tasks(some_task(), some_task());
    const auto waiting = state.first_waiting(job);
    if (waiting && !prng_.one_in(8)) {
      range = *waiting;
      range.last.value = std::min(range.last.value, range.first.value + prng_.below(3));
    }
    return {range, some_peer(), some_allocation()};
  }

  JobDescription some_description(const ClusterState& state) {
    JobDescription job = one_task();
    if (prng_.one_in(2))
      job.shape = Array{tasks(prng_.below(3), prng_.between(2, 8)),
                        prng_.one_in(2) ? std::optional(prng_.between(1, 3)) : std::nullopt};
    if (prng_.one_in(20)) job.shape = Gang{2, "plain"};
    if (prng_.one_in(20)) job.spec.command.clear();
    job.on_loss = static_cast<OnLoss>(prng_.below(3));
    job.retries = static_cast<std::uint32_t>(prng_.below(3));
    job.held = prng_.one_in(10);
    if (prng_.one_in(3)) job.spec.time_limit = seconds(10);
    while (prng_.one_in(3))
      job.after.push_back({some_job(state), static_cast<After>(prng_.below(3))});
    return job;
  }
  Command submit(const ClusterState& state) {
    const RequestId request{1, prng_.one_in(10) ? prng_.below(requests_) : requests_++};
    command::Submit submit{request, {"", some_peer(), 1}, some_description(state), {}, now()};
    while (prng_.one_in(2)) submit.placings.push_back(some_placing(state, state.next_job()));
    return submit;
  }

  Command report(const ClusterState& state) {
    if (!lost_.empty() && prng_.one_in(4))
      return command::Report{lost_[prng_.below(lost_.size())], some_outcome(), now(), true};
    return command::Report{some_fence(state), some_outcome(), now(), prng_.one_in(3)};
  }

  // One under way, one that ended, or one that never was.
  Fence some_fence(const ClusterState& state) {
    const auto attempts = state.attempts_on(some_peer());
    if (!attempts.empty() && !prng_.one_in(6)) {
      fences_.push_back(state.find_attempt(attempts[prng_.below(attempts.size())])->fence);
      return fences_.back();
    }
    if (fences_.empty() || prng_.one_in(4)) return {prng_.below(2), AttemptId{prng_.below(50)}};
    return fences_[prng_.below(fences_.size())];
  }
  Outcome some_outcome() {
    switch (prng_.below(8)) {
      case 0:
        return Signalled{9, true};
      case 1:
        return TimedOut{};
      case 2:
        return Cancelled{};
      case 3:
        return FailedToStart{2, 127, "no such command"};
      case 4:
        return Lost{"power"};
      default:
        return Exited{static_cast<int>(prng_.below(3))};
    }
  }

  Command peer_up() {
    const PeerId peer = some_peer();
    PeerOffer offer = offer_named("lab" + std::to_string(peer.value));
    if (prng_.one_in(4)) offer.accelerators[prng_.below(3)].usable = false;
    return command::PeerUp{peer, prng_.one_in(5) ? "keeper 2" : "keeper 1", offer, now()};
  }
  Command loss(const ClusterState& state) {
    const PeerId peer = some_peer();
    std::vector<Fence> fences;
    for (const AttemptId id : state.attempts_on(peer)) {
      const Attempt& attempt = *state.find_attempt(id);
      const OnLoss on_loss = state.find_job(attempt.job)->description->on_loss;
      if (on_loss == OnLoss::retry || prng_.one_in(4)) fences.push_back(attempt.fence);
    }
    if (prng_.one_in(3)) fences.push_back(some_fence(state));
    lost_.insert(lost_.end(), fences.begin(), fences.end());
    if (prng_.one_in(2)) return command::LeasesOver{peer, fences, now()};
    return command::AttemptsLost{peer, fences, "reboot", now()};
  }
  Command rare(const ClusterState& state) {
    switch (prng_.below(6)) {
      case 0:
        return command::PeerForgotten{some_peer(), now()};
      case 1:
        return command::Prune{Instant{now_ms_ - static_cast<std::int64_t>(prng_.below(50))}, now()};
      case 2:
        return command::SetEpoch{state.epoch() + prng_.below(2), now()};
      case 3:
        return command::SetFeatureLevel{static_cast<std::uint32_t>(prng_.below(4)), now()};
      case 4:
        return command::PlaceGang{some_job(state), task0, {}, 0, 0, now()};
      default:
        return command::PeerDown{some_peer(), now()};
    }
  }

  Prng prng_;
  std::int64_t now_ms_ = 0;
  std::uint64_t requests_ = 1;
  std::vector<Fence> fences_;  ///< some that were under way
  std::vector<Fence> lost_;    ///< some that may have been given up
};

inline std::vector<StatePart> parts_of(const FrozenState& frozen) {
  std::vector<StatePart> parts;
  for (std::size_t i = 0; i < frozen.part_count(); ++i) parts.push_back(frozen.part(i));
  return parts;
}

}  // namespace gpl::test
