#include "device_candidate.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "gpl/core/ascii.h"
#include "memory_words.h"

namespace gpl {
namespace {

std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b) {
  return a > std::numeric_limits<std::uint64_t>::max() - b
             ? std::numeric_limits<std::uint64_t>::max()
             : a + b;
}

std::optional<std::uint64_t> memory_of(const PeerView& peer, const Accelerator& device,
                                       const Partition* slice) {
  if (slice != nullptr) return slice->memory_bytes;
  if (device.memory_bytes || !device.unified_memory || peer.host.memory_bytes == 0) {
    return device.memory_bytes;
  }
  return peer.host.memory_bytes;
}

// The variables that would show it to a job; an Error when none can.
Result<DeviceEnvironment> show(const PeerView& peer, const DeviceCandidate& candidate) {
  return device_environment({candidate.choice()}, peer.accelerators);
}

void check_abilities(const Requirement& requirement, const PeerView& peer,
                     DeviceCandidate& candidate) {
  const Accelerator& device = *candidate.device;
  const bool sliced = candidate.slice == nullptr && !device.partitions.empty();
  if (sliced) candidate.lacks.push_back(ReasonCode::gpu_sliced);
  if (!device.usable || (!sliced && !show(peer, candidate).ok())) {
    candidate.lacks.push_back(ReasonCode::gpu_unusable);
  }
  if (!requirement.gpu_model.empty() && !matches_model(requirement.gpu_model, device.name)) {
    candidate.lacks.push_back(ReasonCode::gpu_model);
  }
  if (requirement.gpu_memory_bytes && !candidate.memory_bytes) {
    candidate.lacks.push_back(ReasonCode::gpu_memory_unknown);
  } else if (requirement.gpu_memory_bytes &&
             *candidate.memory_bytes < *requirement.gpu_memory_bytes) {
    candidate.lacks.push_back(ReasonCode::gpu_memory);
  }
  if (!requirement.compute_capability) return;
  if (!device.compute_capability) {
    candidate.lacks.push_back(ReasonCode::gpu_compute_capability_unknown);
  } else if (*device.compute_capability < *requirement.compute_capability) {
    candidate.lacks.push_back(ReasonCode::gpu_compute_capability);
  }
}

bool is_of(const DeviceHold& hold, const DeviceCandidate& candidate) {
  if (hold.kind != candidate.device->kind || hold.index != candidate.device->index) return false;
  // A hold of the card is in the way of its slices, and a hold of a slice in that of the card.
  return hold.slice.empty() || candidate.slice == nullptr || hold.slice == candidate.slice->uuid;
}

void check_holds(const Requirement& requirement, const PeerView& peer, DeviceCandidate& candidate) {
  std::uint64_t shared_bytes = 0;
  for (const DeviceHold& hold : peer.holds) {
    if (!is_of(hold, candidate)) continue;
    if (requirement.gpu_share && hold.shared_memory_bytes) {
      shared_bytes = saturating_add(shared_bytes, *hold.shared_memory_bytes);
      candidate.sharers.push_back(&hold);
    } else {
      candidate.holds.push_back(&hold);
    }
  }
  if (!requirement.gpu_memory_bytes || !candidate.memory_bytes || !candidate.holds.empty()) return;
  // What the driver counts beyond what jobs said that they take; of a slice it counts nothing.
  const std::uint64_t used =
      candidate.slice == nullptr ? candidate.device->memory_used_bytes.value_or(0) : 0;
  candidate.outside_bytes = used - std::min(used, shared_bytes);
  candidate.memory_is_used = *requirement.gpu_memory_bytes > candidate.left_bytes();
}

bool less_capable(const DeviceCandidate& one, const DeviceCandidate& other) {
  const auto rank = [](const DeviceCandidate& candidate) {
    return std::tuple(candidate.memory_bytes.value_or(0),
                      candidate.device->compute_capability.value_or(ComputeCapability{}),
                      candidate.device->index);
  };
  return rank(one) < rank(other);
}

std::string describe_unusable(const Accelerator& device) {
  if (!device.usable) {
    return "unusable" + (device.problems.empty() ? "" : ", " + device.problems.front());
  }
  return "its UUID is unknown, so that no job can be given it alone";
}

}  // namespace

DeviceChoice DeviceCandidate::choice() const {
  return {device->kind, device->index, slice != nullptr ? slice->uuid : ""};
}

std::uint64_t DeviceCandidate::left_bytes() const {
  std::uint64_t taken = outside_bytes;
  for (const DeviceHold* hold : sharers) taken = saturating_add(taken, *hold->shared_memory_bytes);
  return *memory_bytes - std::min(*memory_bytes, taken);
}

std::string DeviceCandidate::shown_name() const {
  const std::string id = std::string(name_of(device->kind)) + ":" + std::to_string(device->index);
  return slice != nullptr ? id + " " + slice->profile : id;
}

std::vector<DeviceCandidate> device_candidates(const Requirement& requirement, const PeerView& peer,
                                               AcceleratorKind kind) {
  std::vector<DeviceCandidate> all;
  const auto add = [&](const Accelerator& device, const Partition* slice) {
    DeviceCandidate candidate;
    candidate.device = &device;
    candidate.slice = slice;
    candidate.memory_bytes = memory_of(peer, device, slice);
    check_abilities(requirement, peer, candidate);
    check_holds(requirement, peer, candidate);
    all.push_back(std::move(candidate));
  };
  for (const Accelerator& device : peer.accelerators) {
    if (device.kind != kind) continue;
    if (device.partitions.empty() || requirement.gpus > 1) {
      add(device, nullptr);
    } else {
      for (const Partition& slice : device.partitions) add(device, &slice);
    }
  }
  std::stable_sort(all.begin(), all.end(), less_capable);
  return all;
}

std::string describe_lack(ReasonCode code, const Requirement& requirement,
                          const DeviceCandidate& candidate) {
  const Accelerator& device = *candidate.device;
  if (code == ReasonCode::gpu_unusable) return describe_unusable(device);
  if (code == ReasonCode::gpu_sliced) return "cut into MIG slices, of which a job sees only one";
  if (code == ReasonCode::gpu_model) {
    return (device.name.empty() ? "its model is unknown" : device.name) + ", not " +
           requirement.gpu_model;
  }
  if (code == ReasonCode::gpu_memory) {
    const MemoryWords words(*candidate.memory_bytes, *requirement.gpu_memory_bytes);
    return words.one + " memory, " + words.other + " asked";
  }
  if (code == ReasonCode::gpu_memory_unknown) {
    return "memory unknown, " + format_memory_size(*requirement.gpu_memory_bytes) + " asked";
  }
  const std::string asked = to_string(*requirement.compute_capability);
  if (code == ReasonCode::gpu_compute_capability_unknown) {
    return "compute capability unknown, " + asked + " asked";
  }
  return "compute capability " + to_string(*device.compute_capability) + ", " + asked + " asked";
}

bool matches_model(std::string_view glob, std::string_view name) {
  std::size_t g = 0;
  std::size_t n = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  while (n < name.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      resume = n;
    } else if (g < glob.size() && (glob[g] == '?' || to_lower(glob[g]) == to_lower(name[n]))) {
      ++g;
      ++n;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

}  // namespace gpl
