#include "scheduler_room.h"

#include <algorithm>
#include <string>

namespace gpl {
namespace {

bool is_held(const PeerView& view, const Accelerator& device) {
  return std::any_of(view.holds.begin(), view.holds.end(), [&](const DeviceHold& hold) {
    return hold.kind == device.kind && hold.index == device.index;
  });
}

bool is_claimed(const Allocation& allocation, const Accelerator& device) {
  return std::any_of(
      allocation.devices.begin(), allocation.devices.end(), [&](const DeviceClaim& claim) {
        return claim.device.kind == device.kind && claim.device.index == device.index;
      });
}

}  // namespace

const PeerView& Room::view() {
  if (!view_) view_ = state_->view_of(peer_);
  return *view_;
}

void Room::take(JobId job, const Allocation& allocation) {
  if (!view_) view_ = state_->view_of(peer_);
  hold(*view_, job, allocation);
  free_cpus_ -= allocation.cpus;
  ++changes_;
}

std::vector<Room> open_rooms(const ClusterState& state, const std::set<PeerId>& away) {
  std::vector<Room> rooms;
  for (const PeerId id : state.peers()) {
    const PeerRecord& peer = *state.find_peer(id);
    if (!peer.down_at && peer.offer.closed.empty() && !away.contains(id))
      rooms.emplace_back(state, id);
  }
  return rooms;
}

bool has_free_cpu(const std::vector<Room>& rooms) {
  return std::any_of(rooms.begin(), rooms.end(),
                     [](const Room& room) { return room.free_cpus() > 0; });
}

void hold(PeerView& view, JobId job, const Allocation& allocation) {
  view.cpus_held += allocation.cpus;
  view.memory_held_bytes += allocation.memory_bytes;
  for (const DeviceClaim& claim : allocation.devices) {
    DeviceHold hold;
    hold.kind = claim.device.kind;
    hold.index = claim.device.index;
    hold.slice = claim.device.slice;
    hold.shared_memory_bytes = claim.shared_memory_bytes;
    hold.holder = "job " + std::to_string(job.value);
    view.holds.push_back(std::move(hold));
  }
}

void let_go(PeerView& view, const Allocation& allocation) {
  view.cpus_held -= allocation.cpus;
  view.memory_held_bytes -= allocation.memory_bytes;
  view.holds.resize(view.holds.size() - allocation.devices.size());
}

Rank rank_of(const Room& room, const PeerView& view, const Allocation& allocation) {
  std::uint64_t device_memory = 0;
  ComputeCapability capability;
  std::size_t usable = 0;
  std::size_t left = 0;
  for (const Accelerator& device : view.accelerators) {
    const bool claimed = is_claimed(allocation, device);
    if (claimed) {
      device_memory = std::max(device_memory, device.memory_bytes.value_or(0));
      capability = std::max(capability, device.compute_capability.value_or(ComputeCapability{}));
    }
    if (!device.usable) continue;
    ++usable;
    if (!claimed && !is_held(view, device)) ++left;
  }
  const std::uint64_t held = view.memory_held_bytes + allocation.memory_bytes;
  const std::uint64_t memory_left = view.host.memory_bytes - std::min(view.host.memory_bytes, held);
  return {device_memory,
          capability,
          allocation.devices.empty() && usable > 0,
          room.free_cpus() - allocation.cpus,
          memory_left,
          left,
          room.peer()};
}

PeerView emptied(PeerView view) {
  for (Accelerator& device : view.accelerators) {
    if (is_held(view, device)) device.memory_used_bytes.reset();
  }
  view.holds.clear();
  view.loads.clear();
  view.cpus_held = 0;
  view.memory_held_bytes = 0;
  return view;
}

}  // namespace gpl
