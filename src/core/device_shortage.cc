#include "device_shortage.h"

#include <algorithm>

#include "device_use.h"
#include "memory_words.h"
#include "word_list.h"

namespace gpl {
namespace {

Remedy remedy_of(ReasonCode code, const Requirement& requirement,
                 const DeviceCandidate& candidate) {
  const Accelerator& device = *candidate.device;
  const std::string who = candidate.shown_name();
  if (code == ReasonCode::gpu_unusable) {
    return {device.usable ? "the UUID of " + who + " is known" : who + " is usable", "", 30};
  }
  if (code == ReasonCode::gpu_sliced) return {who + " is not cut into slices", "", 30};
  if (code == ReasonCode::gpu_model) {
    const std::string inside = "*" + requirement.gpu_model + "*";
    if (matches_model(inside, device.name)) return {"--gpu-model '" + inside + "' is meant"};
    return {(device.name.empty() ? "any model" : device.name) + " will do",
            requirement.gpu_model + " is asked for", 30};
  }
  if (code == ReasonCode::gpu_memory) {
    const MemoryWords words(*candidate.memory_bytes, *requirement.gpu_memory_bytes);
    return {words.one + " of GPU memory is enough", words.other + " is asked for",
            Remedy::effort_of_less(*candidate.memory_bytes, *requirement.gpu_memory_bytes)};
  }
  if (code == ReasonCode::gpu_memory_unknown) {
    return {"--gpu-memory is left out", "the memory of " + who + " is unknown", 20};
  }
  if (code == ReasonCode::gpu_compute_capability_unknown) {
    return {"--compute-capability is left out", "that of " + who + " is unknown", 20};
  }
  const ComputeCapability has = *device.compute_capability;
  const ComputeCapability asked = *requirement.compute_capability;
  const int gap = std::clamp((asked.major_number - has.major_number) * 2, 1, 10);
  return {"compute capability " + to_string(has) + " is enough", to_string(asked) + " is asked for",
          30 + gap};
}

Candidates unable_ones(const KindFit& fit) {
  Candidates unable;
  for (const DeviceCandidate& candidate : fit.all) {
    if (!candidate.able()) unable.push_back(&candidate);
  }
  // The most capable first, so that of equals the least has to be given up.
  std::reverse(unable.begin(), unable.end());
  std::stable_sort(unable.begin(), unable.end(),
                   [](const DeviceCandidate* a, const DeviceCandidate* b) {
                     return a->lacks.size() < b->lacks.size();
                   });
  return unable;
}

Remedy fewer_devices(const KindFit& fit, std::size_t enough) {
  const bool held = fit.ready.size() < fit.able.size();
  std::string change = device_count(enough) + (enough == 1 ? " is" : " are") + " enough";
  if (held) change += ", once free";
  return {std::move(change), std::to_string(fit.asked) + " are asked for",
          Remedy::effort_of_less(enough, fit.asked)};
}

// What would make enough of them serve: of those that come nearest, all that they lack.
std::vector<Remedy> remedies_of(const Requirement& requirement, const KindFit& fit) {
  if (fit.all.size() < fit.asked && !fit.able.empty()) return {fewer_devices(fit, fit.able.size())};
  const Candidates unable = unable_ones(fit);
  if (fit.able.empty() && unable.front()->lacks == std::vector{ReasonCode::gpu_sliced}) {
    return {{"one MIG slice is enough", device_count(fit.asked) + " are asked for", 35}};
  }
  std::vector<Remedy> remedies;
  if (fit.all.size() < fit.asked) remedies.push_back(fewer_devices(fit, fit.all.size()));
  std::vector<ReasonCode> spoken;
  for (std::size_t i = std::min(unable.size(), fit.asked - fit.able.size()); i-- > 0;) {
    for (const ReasonCode code : unable[i]->lacks) {
      // The worst of them speaks for the others, except where each has a name.
      const bool named = code == ReasonCode::gpu_unusable || code == ReasonCode::gpu_model ||
                         code == ReasonCode::gpu_sliced;
      if (!named && std::find(spoken.begin(), spoken.end(), code) != spoken.end()) continue;
      spoken.push_back(code);
      Remedy remedy = remedy_of(code, requirement, *unable[i]);
      if (std::find(remedies.begin(), remedies.end(), remedy) == remedies.end()) {
        remedies.push_back(std::move(remedy));
      }
    }
  }
  return remedies;
}

// Bytes, versions and names of one that falls short, for programs.
void fill_figures(const Requirement& requirement, const DeviceCandidate& candidate,
                  Reason& reason) {
  const Accelerator& device = *candidate.device;
  if (reason.code == ReasonCode::gpu_model) {
    reason.asked = requirement.gpu_model;
    reason.has = device.name.empty() ? "unknown" : device.name;
  } else if (reason.code == ReasonCode::gpu_memory ||
             reason.code == ReasonCode::gpu_memory_unknown) {
    reason.asked = std::to_string(*requirement.gpu_memory_bytes);
    reason.has =
        candidate.memory_bytes ? std::to_string(*candidate.memory_bytes) : std::string("unknown");
  } else if (reason.code == ReasonCode::gpu_compute_capability ||
             reason.code == ReasonCode::gpu_compute_capability_unknown) {
    reason.asked = to_string(*requirement.compute_capability);
    reason.has = device.compute_capability ? to_string(*device.compute_capability) : "unknown";
  }
}

// "cuda: 2 asked, 1 usable".
std::string describe_count(const KindFit& fit, Instant now) {
  bool only_unusable = true;
  for (const DeviceCandidate& candidate : fit.all) {
    only_unusable = only_unusable && (candidate.able() || !candidate.device->usable);
  }
  const std::string able = std::to_string(fit.able.size());
  std::string text = std::string(name_of(fit.kind)) + ": " + std::to_string(fit.asked) + " asked, ";
  if (fit.able.size() == fit.all.size()) {
    text += "it has " + able;
  } else if (only_unusable) {
    text += able + " usable";
  } else {
    text += able + " of " + std::to_string(fit.all.size()) + " will do";
  }
  return text + describe_uses(fit.able, now);
}

}  // namespace

Reason no_device_reason(const Requirement& requirement, const PeerView& peer) {
  const std::vector<AcceleratorKind> kinds = kinds_for(requirement);
  std::vector<std::string> others;
  for (const Accelerator& device : peer.accelerators) {
    std::string kind(name_of(device.kind));
    if (std::find(others.begin(), others.end(), kind) == others.end()) {
      others.push_back(std::move(kind));
    }
  }
  const std::string failure = probe_failure(peer, kinds.front());
  const std::string kind = kinds.size() == 1 ? std::string(name_of(kinds.front())) : "gpu";
  const std::string devices = device_count(static_cast<std::size_t>(requirement.gpus));
  Reason reason;
  reason.code = ReasonCode::gpu_none;
  reason.subject = kind;
  reason.asked = std::to_string(requirement.gpus);
  reason.has = failure.empty() ? "0" : "unknown";
  reason.free = reason.has;
  reason.text = kind + ": " + (failure.empty() ? "none" : "none found (" + failure + ")");
  if (!others.empty()) reason.text += "; it has " + joined(others, ", ");
  if (failure.empty()) {
    reason.remedies = {{"it has " + devices + " of kind " + kind, "", Remedy::out_of_reach}};
  } else {
    const std::string tool = failure.substr(0, failure.find(':'));
    reason.remedies = {{tool + " finds " + devices + " there", "", 40}};
  }
  return reason;
}

std::vector<Reason> shortage_reasons(const Requirement& requirement, const KindFit& fit,
                                     Instant now) {
  Reason count;
  count.code = ReasonCode::gpu_count;
  count.subject = name_of(fit.kind);
  count.asked = std::to_string(fit.asked);
  count.has = std::to_string(fit.able.size());
  count.free = std::to_string(fit.ready.size());
  count.holder = joined(holders_of(fit.able), ", ");
  count.text = describe_count(fit, now);
  count.remedies = remedies_of(requirement, fit);
  std::vector<Reason> reasons = {std::move(count)};
  for (const DeviceCandidate& candidate : fit.all) {
    for (const ReasonCode code : candidate.lacks) {
      Reason lack;
      lack.code = code;
      lack.subject = candidate.shown_name();
      lack.text = lack.subject + ": " + describe_lack(code, requirement, candidate);
      fill_figures(requirement, candidate, lack);
      reasons.push_back(std::move(lack));
    }
  }
  return reasons;
}

}  // namespace gpl
