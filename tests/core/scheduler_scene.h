#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gpl/core/scheduler.h"

namespace gpl::scheduler_test {

inline constexpr std::uint64_t gib = std::uint64_t{1} << 30U;
inline constexpr std::size_t plenty = 1'000'000;

/// With cards of so many GiB.
inline PeerOffer machine(int cpus, std::vector<std::uint64_t> cards = {},
                         std::uint64_t memory_gib = 64) {
  PeerOffer offer;
  offer.host.cpus = cpus;
  offer.host.memory_bytes = memory_gib * gib;
  for (std::size_t i = 0; i < cards.size(); ++i) {
    Accelerator card;
    card.index = static_cast<int>(i);
    card.id = "cuda:" + std::to_string(i);
    card.memory_bytes = cards[i] * gib;
    card.usable = true;
    offer.accelerators.push_back(card);
  }
  return offer;
}

inline JobDescription for_cpus(int cpus) {
  JobDescription job;
  job.spec.command = {"true"};
  job.requirement.cpus = cpus;
  return job;
}
inline JobDescription for_cards(int gpus) {
  JobDescription job = for_cpus(1);
  job.requirement.gpus = gpus;
  return job;
}
inline JobDescription array_of(std::uint64_t count, JobDescription job) {
  job.shape = Array{{TaskId{0}, TaskId{count - 1}}, std::nullopt};
  return job;
}
inline JobDescription with_priority(std::int32_t priority, JobDescription job) {
  job.priority = priority;
  return job;
}
inline JobDescription with_limit(Duration limit, JobDescription job) {
  job.spec.time_limit = limit;
  return job;
}

/// A cluster whose peers are called lab1, lab2 and so on, and its scheduler.
struct Scene {
  ClusterState state;
  Scheduler scheduler;
  std::int64_t now_ms = 1'000'000;
  std::uint64_t requests = 0;
  std::uint64_t peers = 0;

  Scene() = default;
  explicit Scene(const std::vector<PeerOffer>& offers) {
    for (const PeerOffer& offer : offers) add(offer);
  }

  Instant now() const { return Instant{now_ms}; }
  Applied apply(const Command& command) {
    Applied applied = state.apply(command);
    CAPTURE(name_of(command));
    REQUIRE_MESSAGE(!applied.refused, (applied.refused ? applied.refused->message : ""));
    return applied;
  }
  PeerId add(PeerOffer offer) {
    const PeerId id{++peers};
    report(id, std::move(offer));
    return id;
  }
  void report(PeerId id, PeerOffer offer) {
    offer.name = "lab" + std::to_string(id.value);
    apply(command::PeerUp{id, "keeper", std::move(offer), now()});
  }
  JobId submit(JobDescription job, std::vector<command::Placing> placings = {}) {
    return *apply(command::Submit{{0, ++requests}, {}, std::move(job), std::move(placings), now()})
                .job;
  }
  /// One pass, and what it places is applied.
  Scheduler::Pass pass(std::size_t checks = plenty) {
    Scheduler::Pass pass = scheduler.pass(state, now(), checks);
    for (const command::Place& place : pass.places) apply(place);
    return pass;
  }
  /// Runs here by hand, whatever the scheduler would say.
  JobId run(JobDescription job, PeerId peer, const Allocation& allocation) {
    const JobId id = submit(std::move(job));
    apply(command::Place{id, {{TaskId{0}, TaskId{0}}, peer, allocation}, now()});
    start(id);
    return id;
  }
  JobId run_on_cpus(int cpus, PeerId peer) { return run(for_cpus(cpus), peer, {cpus, 0, {}, ""}); }
  void start(JobId job) {
    for (const AttemptId id : state.attempts_of(job))
      apply(command::Start{state.find_attempt(id)->fence, now()});
  }
  void end(JobId job) {
    const Fence fence = state.find_attempt(state.attempts_of(job).front())->fence;
    apply(command::Report{fence, Exited{0}, now()});
  }
  /// The names of the peers of its attempts, in order of the attempts.
  std::vector<std::string> where(JobId job) const {
    std::vector<std::string> names;
    for (const AttemptId id : state.attempts_of(job))
      names.push_back(state.find_peer(state.find_attempt(id)->peer)->offer.name);
    return names;
  }
  bool waits(JobId job) const { return state.attempts_of(job).empty(); }
  std::vector<DeviceClaim> claims(JobId job) const {
    return state.find_attempt(state.attempts_of(job).front())->allocation.devices;
  }
};

using Names = std::vector<std::string>;

}  // namespace gpl::scheduler_test
