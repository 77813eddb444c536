#include "device_use.h"

#include <algorithm>

#include "gpl/core/size.h"
#include "word_list.h"

namespace gpl {
namespace {

std::string describe_hold(const DeviceHold& hold, Instant now) {
  return hold.holder + (hold.since ? " for " + format_short(now - *hold.since) : "");
}

// Why an able one is not free, as "held by job 12 for 3m" behind its name.
std::string describe_use(const DeviceCandidate& candidate, Instant now) {
  std::vector<std::string> parts;
  if (!candidate.holds.empty()) {
    for (const DeviceHold* hold : candidate.holds) parts.push_back(describe_hold(*hold, now));
    return "held by " + in_words(parts);
  }
  for (const DeviceHold* hold : candidate.sharers) {
    parts.push_back(format_memory_size(*hold->shared_memory_bytes) + " held by " +
                    describe_hold(*hold, now));
  }
  if (candidate.outside_bytes > 0) {
    parts.push_back(format_memory_size(candidate.outside_bytes) + " used by processes outside gpl");
  }
  return "has " + format_memory_size(candidate.left_bytes()) + " of " +
         format_memory_size(*candidate.memory_bytes) + " free, " + in_words(parts);
}

// What ends by itself does not help where too much is used outside gpl.
bool frees_by_jobs(const Requirement& requirement, const DeviceCandidate& candidate) {
  if (!candidate.memory_is_used) return true;
  return *candidate.memory_bytes - std::min(*candidate.memory_bytes, candidate.outside_bytes) >=
         *requirement.gpu_memory_bytes;
}

// When the last of the jobs in its way must be over; nothing when one has no limit.
std::optional<Instant> free_by(const Requirement& requirement, const DeviceCandidate& candidate) {
  if (!frees_by_jobs(requirement, candidate)) return std::nullopt;
  std::optional<Instant> last;
  for (const auto* holds : {&candidate.holds, &candidate.sharers}) {
    for (const DeviceHold* hold : *holds) {
      if (!hold->ends_by) return std::nullopt;
      last = last ? std::max(*last, *hold->ends_by) : *hold->ends_by;
    }
  }
  return last;
}

// What has to happen until enough are free.
Remedy wait_for(const Requirement& requirement, const KindFit& fit) {
  Candidates by_jobs;
  for (const DeviceCandidate* candidate : fit.able) {
    if (!candidate->free() && frees_by_jobs(requirement, *candidate)) by_jobs.push_back(candidate);
  }
  const std::vector<std::string> holders = holders_of(by_jobs);
  const std::size_t free_then = fit.ready.size() + by_jobs.size();
  std::string ends;
  if (holders.size() == 1) {
    ends = holders.front() + " ends";
  } else if (!holders.empty()) {
    ends = (free_then <= fit.asked ? "" : "enough of ") + in_words(holders) + " end";
  }
  if (free_then >= fit.asked) return {std::move(ends)};
  const std::string memory = "enough memory of its " + std::string(name_of(fit.kind)) +
                             (fit.all.size() == 1 ? " device" : " devices") + " is free";
  return {ends.empty() ? memory : ends + " and " + memory};
}

}  // namespace

std::string describe_uses(const Candidates& candidates, Instant now) {
  std::vector<SameWords> uses;
  for (const DeviceCandidate* candidate : candidates) {
    if (!candidate->free()) {
      add_same(uses, candidate->shown_name(), describe_use(*candidate, now));
    }
  }
  std::vector<std::string> parts;
  for (const SameWords& use : uses) parts.push_back(subjects_of(use) + " " + use.words);
  return parts.empty() ? "" : " (" + joined(parts, "; ") + ")";
}

std::vector<std::string> holders_of(const Candidates& candidates) {
  std::vector<std::string> holders;
  const auto add = [&](const DeviceHold* hold) {
    const bool known = std::find(holders.begin(), holders.end(), hold->holder) != holders.end();
    if (!known) holders.push_back(hold->holder);
  };
  for (const DeviceCandidate* candidate : candidates) {
    if (candidate->free()) continue;
    std::for_each(candidate->holds.begin(), candidate->holds.end(), add);
    if (!candidate->memory_is_used) continue;
    std::for_each(candidate->sharers.begin(), candidate->sharers.end(), add);
  }
  return holders;
}

std::optional<Instant> free_by(const Requirement& requirement, const KindFit& fit) {
  std::vector<Instant> ends;
  for (const DeviceCandidate* candidate : fit.able) {
    if (candidate->free()) continue;
    if (const auto end = free_by(requirement, *candidate)) ends.push_back(*end);
  }
  std::sort(ends.begin(), ends.end());
  const std::size_t missing = fit.asked - fit.ready.size();
  return missing <= ends.size() ? std::optional<Instant>(ends[missing - 1]) : std::nullopt;
}

Reason busy_reason(const Requirement& requirement, const KindFit& fit, Instant now) {
  const bool held = std::any_of(fit.able.begin(), fit.able.end(),
                                [](const DeviceCandidate* each) { return !each->holds.empty(); });
  Reason reason;
  reason.code = held ? ReasonCode::gpu_held : ReasonCode::gpu_memory_used;
  reason.subject = name_of(fit.kind);
  reason.asked = std::to_string(requirement.gpus);
  reason.has = std::to_string(fit.able.size());
  reason.free = std::to_string(fit.ready.size());
  reason.holder = joined(holders_of(fit.able), ", ");
  reason.text = reason.subject + ": " + reason.asked + " asked, " + reason.free + " free" +
                describe_uses(fit.able, now);
  reason.passes = true;
  reason.remedies = {wait_for(requirement, fit)};
  return reason;
}

}  // namespace gpl
