#include "sim/process_checker.h"

#include <algorithm>

namespace gpl::sim {

namespace {

std::string name_of(const ProcessKey& key) {
  return "attempt " + std::to_string(key.fence.attempt.value) + " on peer " +
         std::to_string(key.peer.value);
}

bool share_device(const Allocation& one, const Allocation& other) {
  return std::any_of(one.devices.begin(), one.devices.end(), [&](const DeviceClaim& claim) {
    return std::any_of(other.devices.begin(), other.devices.end(),
                       [&](const DeviceClaim& another) { return claim.device == another.device; });
  });
}

}  // namespace

void ProcessChecker::began(const ProcessKey& key, JobId job, TaskId task,
                           const Allocation& allocation) {
  world_.count(Figure::attempts_run);
  const auto [place, first] = running_.try_emplace(key, Process{job, task, allocation});
  if (!first) return world_.violate(name_of(key) + " is started twice");
  for (const auto& [other_key, other] : running_)
    if (other_key != key) beside(key, place->second, other_key, other);
}

void ProcessChecker::beside(const ProcessKey& key, const Process& process,
                            const ProcessKey& other_key, const Process& other) {
  if (process.job == other.job && process.task == other.task) {
    if (!other.excused) {
      world_.violate("task " + std::to_string(process.task.value) + " of job " +
                     std::to_string(process.job.value) + " runs twice at once: " + name_of(key) +
                     " beside " + name_of(other_key));
      return;
    }
    overlaps_.push_back({other_key, process.job, process.task});
  } else if (key.peer == other_key.peer && share_device(process.allocation, other.allocation)) {
    world_.violate("a device of peer " + std::to_string(key.peer.value) +
                   " has two processes: " + name_of(key) + " and " + name_of(other_key));
  }
}

bool ProcessChecker::locked(PeerId peer, const Allocation& allocation) const {
  return std::any_of(running_.begin(), running_.end(), [&](const auto& one) {
    const auto& [key, process] = one;
    return key.peer == peer && (process.excused || process.ending) &&
           share_device(process.allocation, allocation);
  });
}

void ProcessChecker::ended(const ProcessKey& key) { running_.erase(key); }

void ProcessChecker::excuse(const ProcessKey& key) {
  if (const auto found = running_.find(key); found != running_.end()) found->second.excused = true;
}

void ProcessChecker::lease_over(const ProcessKey& key) {
  if (const auto found = running_.find(key); found != running_.end() && !found->second.excused)
    world_.violate(name_of(key) + " runs, and the leader has counted its lease as over");
}

void ProcessChecker::ending(const ProcessKey& key) {
  if (const auto found = running_.find(key); found != running_.end()) found->second.ending = true;
}

void ProcessChecker::silence(PeerId peer) {
  std::erase_if(overlaps_, [&](const Overlap& o) { return o.excused.peer == peer; });
}

std::optional<std::string> ProcessChecker::unreported(const ClusterState& state) const {
  for (const auto& overlap : overlaps_) {
    const auto* job = state.find_job(overlap.job);
    if (job == nullptr) continue;
    if (!std::binary_search(job->overlaps.begin(), job->overlaps.end(), overlap.task))
      return "task " + std::to_string(overlap.task.value) + " of job " +
             std::to_string(overlap.job.value) + " ran twice at once (" + name_of(overlap.excused) +
             " ran on), and nobody was told";
  }
  return std::nullopt;
}

}  // namespace gpl::sim
