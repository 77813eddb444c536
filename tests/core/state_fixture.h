#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gpl/core/cluster_state.h"

namespace gpl::test {

inline constexpr JobId job1{1};
inline constexpr JobId job2{2};
inline constexpr JobId job3{3};
inline constexpr TaskId task0{0};
inline constexpr PeerId lab1{11};
inline constexpr PeerId lab2{12};
inline constexpr std::uint64_t card_bytes = 80;
inline constexpr std::uint64_t slice_bytes = 40;

inline TaskRange tasks(std::uint64_t first, std::uint64_t last) {
  return {TaskId{first}, TaskId{last}};
}
inline TaskRange task(std::uint64_t number) { return tasks(number, number); }

/// 8 cpus, 100 bytes of memory, cards cuda:0 and cuda:1, and cuda:2 in two slices.
inline PeerOffer offer_named(const std::string& name) {
  PeerOffer offer;
  offer.name = name;
  offer.host.name = name;
  offer.host.cpus = 8;
  offer.host.memory_bytes = 100;
  for (int index = 0; index < 3; ++index) {
    Accelerator card;
    card.id = "cuda:" + std::to_string(index);
    card.index = index;
    card.memory_bytes = card_bytes;
    card.usable = true;
    offer.accelerators.push_back(card);
  }
  offer.accelerators[2].partitions = {{"MIG-a", "1g", slice_bytes, 1},
                                      {"MIG-b", "1g", slice_bytes, 2}};
  offer.environments.push_back({"system", "/usr", "/usr/bin/python3", "3.11.2", {}, {}});
  return offer;
}

inline DeviceClaim card(int index) { return {{AcceleratorKind::cuda, index, ""}, std::nullopt}; }
inline DeviceClaim share(int index, std::uint64_t bytes) {
  return {{AcceleratorKind::cuda, index, ""}, bytes};
}
inline DeviceClaim slice(const std::string& uuid) {
  return {{AcceleratorKind::cuda, 2, uuid}, std::nullopt};
}
inline Allocation cpus(int count) { return {count, 0, {}, ""}; }
inline Allocation claims(std::vector<DeviceClaim> devices) {
  return {0, 0, std::move(devices), ""};
}

inline JobDescription one_task() {
  JobDescription job;
  job.spec.command = {"true"};
  return job;
}
inline JobDescription array_of(std::uint64_t count) {
  JobDescription job = one_task();
  job.shape = Array{tasks(0, count - 1), std::nullopt};
  return job;
}
inline JobDescription after(JobDescription job, std::vector<Dependency> dependencies) {
  job.after = std::move(dependencies);
  return job;
}

/// A cluster of two peers, and short words for what happens to it. Time goes on by 1 ms a command.
class Cluster {
 public:
  Cluster() {
    fine(up(lab1));
    fine(up(lab2));
  }

  Instant now() { return Instant{++now_ms_}; }

  command::PeerUp up(PeerId peer, const std::string& keeper = "keeper 1") {
    return {peer, keeper, offer_named("lab" + std::to_string(peer.value - 10)), now()};
  }
  command::Submit submit(JobDescription job, std::vector<command::Placing> placings = {}) {
    return {
        RequestId{7, ++requests_}, {"", lab1, 1000}, std::move(job), std::move(placings), now()};
  }
  command::Place place(JobId job, TaskRange range, Allocation allocation, PeerId peer = lab1) {
    return {job, {range, peer, std::move(allocation)}, now()};
  }
  command::Start start(Fence attempt) { return {attempt, now()}; }
  command::Report report(Fence attempt, Outcome outcome, bool outlived_lease = false) {
    return {attempt, std::move(outcome), now(), outlived_lease};
  }
  command::Cancel cancel(JobId job) { return {job, std::nullopt, now()}; }
  command::Cancel cancel(JobId job, TaskRange range) { return {job, range, now()}; }

  /// Not refused.
  Applied fine(const Command& command) {
    Applied applied = state.apply(command);
    CAPTURE(name_of(command));
    REQUIRE_MESSAGE(!applied.refused, (applied.refused ? applied.refused->message : ""));
    return applied;
  }
  /// Refused, with nothing changed; returns why.
  Error refused(const Command& command) {
    const std::uint64_t digest = state.digest();
    const auto before = parts();
    const Applied applied = state.apply(command);
    CAPTURE(name_of(command));
    REQUIRE(applied.refused);
    CHECK(applied.placed.empty());
    CHECK(applied.to_end.empty());
    CHECK(applied.ended.empty());
    CHECK(!applied.job);
    CHECK(state.digest() == digest);
    CHECK(parts() == before);
    return *applied.refused;
  }
  /// Fine, and there was nothing left to do.
  Applied idle(const Command& command) {
    const std::uint64_t digest = state.digest();
    const auto before = parts();
    Applied applied = fine(command);
    CHECK(state.digest() == digest);
    CHECK(parts() == before);
    return applied;
  }

  JobId add(JobDescription job) { return *fine(submit(std::move(job))).job; }
  /// Attempts at the tasks, in order.
  std::vector<Fence> run(JobId job, TaskRange range, Allocation allocation = {}, PeerId on = lab1) {
    std::vector<Fence> fences;
    for (const AttemptId id : fine(place(job, range, std::move(allocation), on)).placed)
      fences.push_back(state.find_attempt(id)->fence);
    return fences;
  }
  Fence run(JobId job) { return run(job, task(0)).front(); }
  /// The only task of a new job, which runs on lab1.
  Fence run(JobDescription job) {
    const Fence fence = run(add(std::move(job)));
    fine(start(fence));
    return fence;
  }
  void end(JobId job, Outcome outcome) { fine(report(run(job), std::move(outcome))); }

  const JobRecord& job(JobId id) const {
    const JobRecord* found = state.find_job(id);
    REQUIRE(found != nullptr);
    return *found;
  }
  Outcome outcome(JobId id, TaskId of = task0) const {
    const auto found = state.outcome_of(id, of);
    REQUIRE(found);
    return *found;
  }
  std::vector<StatePart> parts() const {
    const FrozenState frozen = state.freeze();
    std::vector<StatePart> all;
    for (std::size_t i = 0; i < frozen.part_count(); ++i) all.push_back(frozen.part(i));
    return all;
  }

  ClusterState state;

 private:
  std::int64_t now_ms_ = 1000;
  std::uint64_t requests_ = 0;
};

}  // namespace gpl::test
