#include "peer_load.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <string>
#include <utility>

namespace gpl {
namespace {

struct OfferedDevice {
  bool usable = false;
  std::optional<std::uint64_t> memory_bytes;
};

std::string words_for(const DeviceChoice& device) {
  const std::string card = std::string(name_of(device.kind)) + ":" + std::to_string(device.index);
  return device.slice.empty() ? card : card + " slice " + device.slice;
}

std::optional<OfferedDevice> find_device(const PeerOffer& offer, const DeviceChoice& wanted) {
  for (const Accelerator& device : offer.accelerators) {
    if (device.kind != wanted.kind || device.index != wanted.index) continue;
    if (wanted.slice.empty()) {
      auto memory = device.memory_bytes;
      if (!memory && device.unified_memory && offer.host.memory_bytes > 0)
        memory = offer.host.memory_bytes;
      return OfferedDevice{device.usable, memory};
    }
    for (const Partition& slice : device.partitions) {
      if (slice.uuid == wanted.slice) return OfferedDevice{device.usable, slice.memory_bytes};
    }
  }
  return std::nullopt;
}

// What is left of a device for sharers; what is claimed beyond it, after a changed offer, is not
// below nothing.
Status check_share(const OfferedDevice& device, std::uint64_t held_bytes,
                   const DeviceClaim& claim) {
  const std::uint64_t asked = *claim.shared_memory_bytes;
  const std::string name = words_for(claim.device);
  if (asked == 0) return Error{Code::invalid, "a share of 0 bytes of " + name};
  if (!device.memory_bytes)
    return Error{Code::invalid, "a share of " + name + ", whose memory is unknown"};
  const std::uint64_t left = *device.memory_bytes - std::min(*device.memory_bytes, held_bytes);
  if (asked <= left) return success();
  return Error{Code::busy, name + " has " + std::to_string(left) + " of " +
                               std::to_string(*device.memory_bytes) + " bytes free, " +
                               std::to_string(asked) + " are claimed"};
}

Status check_claim(const PeerOffer& offer, const PeerLoad& load,
                   const std::vector<DeviceClaim>& before, const DeviceClaim& claim) {
  const auto device = find_device(offer, claim.device);
  if (!device) return Error{Code::invalid, "it has no " + words_for(claim.device)};
  if (!device->usable) return Error{Code::invalid, words_for(claim.device) + " is not usable"};
  std::uint64_t held_bytes = 0;
  const auto count = [&](const DeviceClaim& other) {
    if (other.device == claim.device) held_bytes += other.shared_memory_bytes.value_or(0);
  };
  for (const HeldClaim& held : load.claims) {
    if (!can_coexist(held.claim, claim))
      return Error{Code::busy, words_for(claim.device) + " is held by job " +
                                   std::to_string(held.job.value) + " (attempt " +
                                   std::to_string(held.slot.value) + ")"};
    count(held.claim);
  }
  for (const DeviceClaim& other : before) {
    if (!can_coexist(other, claim))
      return Error{Code::invalid, words_for(claim.device) + " is claimed twice"};
    count(other);
  }
  if (!claim.shared_memory_bytes) return success();
  return check_share(*device, held_bytes, claim);
}

Status check_amounts(const PeerOffer& offer, const PeerLoad& load, const Allocation& allocation) {
  const std::int64_t cpus = std::max<std::int64_t>(offer.host.cpus, 0);
  const std::int64_t cpus_left = std::max<std::int64_t>(cpus - load.cpus, 0);
  if (allocation.cpus < 0) return Error{Code::invalid, "a negative number of cpus"};
  if (allocation.cpus > cpus_left)
    return Error{allocation.cpus > cpus ? Code::invalid : Code::busy,
                 std::to_string(allocation.cpus) + " cpus are claimed, " +
                     std::to_string(cpus_left) + " of " + std::to_string(cpus) + " are free"};
  const std::uint64_t memory = offer.host.memory_bytes;
  const std::uint64_t memory_left = memory - std::min(memory, load.memory_bytes);
  if (allocation.memory_bytes <= memory_left) return success();
  if (memory == 0) return Error{Code::invalid, "memory is claimed, and what it has is unknown"};
  return Error{allocation.memory_bytes > memory ? Code::invalid : Code::busy,
               std::to_string(allocation.memory_bytes) + " bytes of memory are claimed, " +
                   std::to_string(memory_left) + " of " + std::to_string(memory) + " are free"};
}

}  // namespace

bool can_coexist(const DeviceClaim& a, const DeviceClaim& b) {
  if (a.device.kind != b.device.kind || a.device.index != b.device.index) return true;
  if (a.device.slice != b.device.slice) return !a.device.slice.empty() && !b.device.slice.empty();
  return a.shared_memory_bytes && b.shared_memory_bytes;
}

void PeerLoad::add(AttemptId slot, JobId job, Instant since, const Allocation& allocation) {
  cpus += allocation.cpus;
  memory_bytes += allocation.memory_bytes;
  for (const DeviceClaim& claim : allocation.devices) claims.push_back({claim, slot, job, since});
  if (allocation.cpus > 0 || allocation.memory_bytes > 0)
    shares.insert({slot, {job, allocation.cpus, allocation.memory_bytes, since}});
}

void PeerLoad::remove(AttemptId slot, const Allocation& allocation) {
  cpus -= allocation.cpus;
  memory_bytes -= allocation.memory_bytes;
  shares.erase(slot);
  if (allocation.devices.empty()) return;
  std::erase_if(claims, [&](const HeldClaim& held) { return held.slot == slot; });
}

Status check_free(const PeerOffer& offer, const PeerLoad& load, const Allocation& allocation) {
  Status amounts = check_amounts(offer, load, allocation);
  if (!amounts.ok()) return amounts;
  std::vector<DeviceClaim> before;
  for (const DeviceClaim& claim : allocation.devices) {
    Status free = check_claim(offer, load, before, claim);
    if (!free.ok()) return free;
    before.push_back(claim);
  }
  if (allocation.environment.empty()) return success();
  const auto& environments = offer.environments;
  if (std::any_of(environments.begin(), environments.end(),
                  [&](const auto& one) { return one.root == allocation.environment; }))
    return success();
  return Error{Code::invalid, "it has no environment '" + allocation.environment + "'"};
}

}  // namespace gpl
