#include "gpl/core/fit.h"

#include <algorithm>
#include <limits>

#include "device_fit.h"
#include "environment_fit.h"
#include "gpl/core/size.h"
#include "load_use.h"
#include "memory_words.h"
#include "word_list.h"

namespace gpl {
namespace {

void judge_name(const Requirement& requirement, const PeerView& peer,
                std::vector<Reason>& reasons) {
  if (requirement.on.empty() || is_meant(requirement.on, peer)) return;
  Reason reason;
  reason.code = ReasonCode::other_peer;
  reason.subject = "on";
  reason.asked = requirement.on;
  reason.has = peer.name;
  reason.text = "not " + requirement.on;
  reason.remedies = {{"--on " + requirement.on + " is left out"}};
  reasons.push_back(std::move(reason));
}

void judge_contact(const PeerView& peer, Instant now, std::vector<Reason>& reasons) {
  Reason reason;
  reason.subject = "peer";
  reason.passes = true;
  if (peer.unreachable_since) {
    reason.code = ReasonCode::unreachable;
    reason.text = "unreachable for " + format_short(now - *peer.unreachable_since);
    reason.remedies = {{"it answers"}};
    reasons.push_back(reason);
  }
  if (!peer.closed.empty()) {
    reason.code = ReasonCode::closed;
    reason.text = peer.closed;
    reason.remedies = {{"it takes new work again"}};
    reasons.push_back(reason);
  }
  if (!peer.reported_at) {
    reason.code = ReasonCode::not_reported;
    reason.text = "has not reported yet";
    reason.remedies = {{"it has reported"}};
    reasons.push_back(reason);
  }
}

void judge_labels(const Requirement& requirement, const PeerView& peer,
                  std::vector<Reason>& reasons) {
  for (const Label& wanted : requirement.labels) {
    if (std::find(peer.labels.begin(), peer.labels.end(), wanted) != peer.labels.end()) continue;
    std::vector<std::string> has;
    for (const Label& label : peer.labels) {
      if (label.key == wanted.key) has.push_back(label.value);
    }
    Reason reason;
    reason.code = ReasonCode::label;
    reason.subject = wanted.key;
    reason.asked = wanted.value;
    reason.has = joined(has, ", ");
    const std::string now = has.empty() ? "no " + wanted.key : wanted.key + "=" + reason.has;
    reason.text = "label " + wanted.key + "=" + wanted.value + " asked, it has " + now;
    reason.remedies = {{"its label " + wanted.key + " is " + wanted.value, "it has " + now}};
    reasons.push_back(std::move(reason));
  }
}

/// When each of the things that jobs have will be free; nothing of one whose time is not known.
using FreeTimes = std::vector<std::optional<Instant>>;

void judge_cpus(const Requirement& requirement, const PeerView& peer, Instant now,
                std::vector<Reason>& reasons, FreeTimes& free_times) {
  const int has = peer.host.cpus;
  const int free = std::max(has - std::max(peer.cpus_held, 0), 0);
  if (!requirement.cpus || *requirement.cpus <= free) return;
  Reason reason;
  reason.passes = *requirement.cpus <= has;
  reason.code = reason.passes ? ReasonCode::cpus_held : ReasonCode::cpus;
  reason.subject = "cpus";
  reason.asked = std::to_string(*requirement.cpus);
  reason.has = has > 0 ? std::to_string(has) : "unknown";
  reason.free = has > 0 ? std::to_string(free) : "unknown";
  reason.text = "cpus: " + reason.asked + " asked, " +
                (reason.passes ? reason.free + " free of " + reason.has : "it has " + reason.has);
  if (reason.passes) {
    const std::int64_t missing = std::int64_t{*requirement.cpus} + peer.cpus_held - has;
    const LoadUse use = LoadUse::of_cpus(peer, static_cast<std::uint64_t>(missing));
    reason.holder = use.holders();
    reason.text += use.described(now);
    const std::string ends = use.awaited_ends();
    const std::string amount =
        reason.asked + (*requirement.cpus == 1 ? " cpu is" : " cpus are") + " free";
    reason.remedies = {{ends.empty() ? amount : ends}};
    free_times.push_back(use.free_by());
  } else {
    reason.remedies = {{reason.has + (has == 1 ? " cpu is" : " cpus are") + " enough",
                        reason.asked + " are asked for",
                        Remedy::effort_of_less(static_cast<std::uint64_t>(std::max(has, 0)),
                                               static_cast<std::uint64_t>(*requirement.cpus))}};
  }
  reasons.push_back(std::move(reason));
}

// More may be held than there is, after a changed offer.
std::uint64_t missing_memory(std::uint64_t asked, const PeerView& peer) {
  const std::uint64_t has = peer.host.memory_bytes;
  const std::uint64_t held = peer.memory_held_bytes;
  if (held <= has) return asked - (has - held);
  const std::uint64_t over = held - has;
  return asked > std::numeric_limits<std::uint64_t>::max() - over
             ? std::numeric_limits<std::uint64_t>::max()
             : asked + over;
}

void judge_memory(const Requirement& requirement, const PeerView& peer, Instant now,
                  std::vector<Reason>& reasons, FreeTimes& free_times) {
  if (!requirement.memory_bytes) return;
  const std::uint64_t asked = *requirement.memory_bytes;
  const std::uint64_t has = peer.host.memory_bytes;
  const std::uint64_t held = std::min(has, peer.memory_held_bytes);
  if (asked <= has - held) return;
  const bool known = has > 0;
  const MemoryWords words(asked, has);
  Reason reason;
  reason.passes = asked <= has;
  reason.code = reason.passes ? ReasonCode::memory_held : ReasonCode::memory;
  reason.subject = "memory";
  reason.asked = std::to_string(asked);
  reason.has = known ? std::to_string(has) : "unknown";
  reason.free = known ? std::to_string(has - held) : "unknown";
  reason.text = "memory: " + words.one + " asked, ";
  if (reason.passes) {
    const LoadUse use = LoadUse::of_memory(peer, missing_memory(asked, peer));
    reason.holder = use.holders();
    reason.text += format_memory_size(has - held) + " free of " + words.other + use.described(now);
    const std::string ends = use.awaited_ends();
    reason.remedies = {{ends.empty() ? words.one + " of memory is free" : ends}};
    free_times.push_back(use.free_by());
  } else if (known) {
    reason.text += "it has " + words.other;
    reason.remedies = {{words.other + " of memory is enough", words.one + " is asked for",
                        Remedy::effort_of_less(has, asked)}};
  } else {
    reason.text += "what it has is unknown";
    reason.remedies = {{"--memory is left out", "what it has is unknown", 20}};
  }
  reasons.push_back(std::move(reason));
}

bool is_of_devices(const Reason& reason) {
  return reason.code == ReasonCode::gpu_held || reason.code == ReasonCode::gpu_memory_used;
}

// The last of them. Nothing when more than jobs' ends is waited for, or one of the times is not
// known: nobody knows how long anything else takes.
std::optional<Instant> last_free(const std::vector<Reason>& reasons, const FreeTimes& free_times) {
  const bool only_jobs = std::all_of(reasons.begin(), reasons.end(), [](const Reason& reason) {
    return is_of_devices(reason) || reason.code == ReasonCode::cpus_held ||
           reason.code == ReasonCode::memory_held;
  });
  if (!only_jobs || free_times.empty()) return std::nullopt;
  std::optional<Instant> last = free_times.front();
  for (const std::optional<Instant>& time : free_times) {
    if (!time) return std::nullopt;
    last = std::max(last, time);
  }
  return last;
}

// A device that is usable goes without saying where --gpus already has to explain why there is
// none.
void leave_out_twice_said(std::vector<Reason>& reasons) {
  const bool no_device = std::any_of(reasons.begin(), reasons.end(), [](const Reason& reason) {
    return reason.code == ReasonCode::gpu_none || reason.code == ReasonCode::gpu_count;
  });
  for (Reason& reason : reasons) {
    if (no_device && reason.code == ReasonCode::framework_device) reason.remedies.clear();
  }
}

}  // namespace

std::string_view name_of(ReasonCode code) {
  switch (code) {
    case ReasonCode::other_peer:
      return "other_peer";
    case ReasonCode::label:
      return "label";
    case ReasonCode::unreachable:
      return "unreachable";
    case ReasonCode::closed:
      return "closed";
    case ReasonCode::not_reported:
      return "not_reported";
    case ReasonCode::cpus:
      return "cpus";
    case ReasonCode::cpus_held:
      return "cpus_held";
    case ReasonCode::memory:
      return "memory";
    case ReasonCode::memory_held:
      return "memory_held";
    case ReasonCode::gpu_none:
      return "gpu_none";
    case ReasonCode::gpu_count:
      return "gpu_count";
    case ReasonCode::gpu_unusable:
      return "gpu_unusable";
    case ReasonCode::gpu_sliced:
      return "gpu_sliced";
    case ReasonCode::gpu_model:
      return "gpu_model";
    case ReasonCode::gpu_memory:
      return "gpu_memory";
    case ReasonCode::gpu_memory_unknown:
      return "gpu_memory_unknown";
    case ReasonCode::gpu_compute_capability:
      return "gpu_compute_capability";
    case ReasonCode::gpu_compute_capability_unknown:
      return "gpu_compute_capability_unknown";
    case ReasonCode::gpu_held:
      return "gpu_held";
    case ReasonCode::gpu_memory_used:
      return "gpu_memory_used";
    case ReasonCode::environment_missing:
      return "environment_missing";
    case ReasonCode::environment_without_python:
      return "environment_without_python";
    case ReasonCode::framework_missing:
      return "framework_missing";
    case ReasonCode::framework_version:
      return "framework_version";
    case ReasonCode::framework_backend:
      return "framework_backend";
    case ReasonCode::framework_device:
      return "framework_device";
  }
  return "";
}

bool Fit::will_fit() const {
  return std::all_of(reasons.begin(), reasons.end(), [](const Reason& r) { return r.passes; });
}

Fit judge(const Requirement& requirement, const PeerView& peer, Instant now) {
  Fit fit;
  judge_name(requirement, peer, fit.reasons);
  judge_contact(peer, now, fit.reasons);
  if (!peer.reported_at) return fit;
  Placement placement;
  judge_labels(requirement, peer, fit.reasons);
  FreeTimes free_times;
  judge_cpus(requirement, peer, now, fit.reasons, free_times);
  judge_memory(requirement, peer, now, fit.reasons, free_times);
  choose_devices(requirement, peer, now, placement, fit);
  choose_environment(requirement, peer, placement, fit.reasons);
  leave_out_twice_said(fit.reasons);
  if (std::any_of(fit.reasons.begin(), fit.reasons.end(), is_of_devices))
    free_times.push_back(fit.free_by);
  fit.free_by = last_free(fit.reasons, free_times);
  if (fit.reasons.empty()) fit.placement = std::move(placement);
  return fit;
}

}  // namespace gpl
