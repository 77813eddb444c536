#include "sim/placement_rule.h"

#include <algorithm>

#include "gpl/core/fit.h"

namespace gpl::sim {

namespace {

constexpr std::size_t jobs_at_a_time = 16;
/// Short tasks are sent ahead in small batches: they run one after the other in one slot.
constexpr std::uint64_t tasks_of_slot = 3;

Allocation allocation_of(const Requirement& requirement, const Placement& placement) {
  Allocation allocation;
  allocation.cpus = requirement.cpus.value_or(1);
  allocation.memory_bytes = requirement.memory_bytes.value_or(0);
  for (const auto& device : placement.devices)
    allocation.devices.push_back({device, placement.shared_memory_bytes});
  return allocation;
}

}  // namespace

PlacementRule::PlacementRule(const ClusterState& state, Instant now) : state_(state), now_(now) {
  for (const auto peer : state.peers())
    if (!state.find_peer(peer)->down_at) free_.emplace(peer, state.view_of(peer));
}

std::vector<command::Place> PlacementRule::place_waiting() {
  std::vector<command::Place> places;
  for (const auto id : state_.placeable({}, jobs_at_a_time)) {
    const auto& job = *state_.find_job(id)->description;
    for (auto& placing : place(job, state_.waiting(id), state_.placings_left(id)))
      places.push_back({id, std::move(placing), now_});
  }
  return places;
}

std::vector<command::Placing> PlacementRule::place_new(const JobDescription& job) {
  if (job.held || !job.after.empty()) return {};
  const auto* array = std::get_if<Array>(&job.shape);
  const auto limit = array != nullptr ? array->limit : std::nullopt;
  return place(job, {tasks_of(job.shape)}, limit.value_or(8));
}

std::vector<command::Placing> PlacementRule::place(const JobDescription& job,
                                                   std::vector<TaskRange> waiting,
                                                   std::uint64_t slots_left) {
  std::vector<command::Placing> placings;
  std::size_t at = 0;
  while (slots_left > 0 && at < waiting.size()) {
    const auto found = fitting(job.requirement);
    if (!found) break;
    TaskRange& rest = waiting[at];
    TaskRange tasks = rest;
    tasks.last.value = std::min(rest.last.value, rest.first.value + tasks_of_slot - 1);
    placings.push_back({tasks, found->first, found->second});
    --slots_left;
    if (tasks.last == rest.last) {
      ++at;
    } else {
      rest.first.value = tasks.last.value + 1;
    }
  }
  return placings;
}

std::optional<std::pair<PeerId, Allocation>> PlacementRule::fitting(
    const Requirement& requirement) {
  for (auto& [id, peer] : free_) {
    const auto fit = judge(requirement, peer, now_);
    if (!fit.fits()) continue;
    const auto allocation = allocation_of(requirement, *fit.placement);
    hold(peer, allocation);
    return std::pair{id, allocation};
  }
  return std::nullopt;
}

void PlacementRule::hold(PeerView& peer, const Allocation& allocation) {
  peer.cpus_held += allocation.cpus;
  peer.memory_held_bytes += allocation.memory_bytes;
  for (const auto& claim : allocation.devices) {
    DeviceHold hold;
    hold.kind = claim.device.kind;
    hold.index = claim.device.index;
    hold.slice = claim.device.slice;
    hold.shared_memory_bytes = claim.shared_memory_bytes;
    hold.holder = "a job that is being placed";
    peer.holds.push_back(std::move(hold));
  }
}

}  // namespace gpl::sim
