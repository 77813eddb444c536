#include "gpl/peer/admission.h"

#include <algorithm>
#include <utility>

#include "gpl/core/hex.h"
#include "gpl/core/scheduler.h"
#include "gpl/posix/clock.h"

namespace gpl::peer {
namespace {

constexpr int exit_usage = 2;
constexpr int exit_failed = 125;
/// DESIGN 5, explain.
constexpr Duration reports_at_most = seconds(10);

wire::Refused never(Explanation explanation) {
  // "never: no peer can run this: ..." without its first word.
  std::string text = explanation.headline.substr(explanation.headline.find(' ') + 1);
  return {exit_failed, std::move(text), std::move(explanation)};
}

/// A name that several peers have, and nobody's id.
std::optional<wire::Refused> if_ambiguous(const ClusterState& state, const std::string& on) {
  if (on.empty()) return std::nullopt;
  std::vector<std::string> ids;
  for (const PeerId peer : state.peers()) {
    if (hex(peer.value) == on) return std::nullopt;
    if (state.find_peer(peer)->offer.name == on) ids.push_back(hex(peer.value));
  }
  if (ids.size() < 2) return std::nullopt;
  std::string which;
  for (const std::string& id : ids) which += (which.empty() ? "" : " or ") + id;
  return wire::Refused{exit_failed,
                       "several peers are named '" + on + "': say which by its id, --on " + which,
                       std::nullopt};
}

}  // namespace

bool all_have_reported(const Consensus& consensus) {
  const ClusterState* state = consensus.state();
  if (state == nullptr || !consensus.led_since()) return false;
  const Moment now{posix::boot_clock().since_epoch_ms};
  if (now - *consensus.led_since() >= reports_at_most) return true;
  const auto peers = state->peers();
  return !peers.empty() && std::all_of(peers.begin(), peers.end(), [&](PeerId peer) {
    return !state->find_peer(peer)->down_at.has_value();
  });
}

wire::Refused refusal(const Error& error) {
  return {error.code == Code::invalid ? exit_usage : exit_failed, error.message, std::nullopt};
}

std::variant<command::Submit, wire::Refused> admit(const ClusterState& state,
                                                   const wire::SubmitJob& asked,
                                                   const Submitter& submitter, bool all_reported,
                                                   Instant now, bool may_place,
                                                   const std::set<PeerId>& away) {
  const JobDescription& job = asked.job;
  if (const Status valid = validate(job); !valid.ok()) return refusal(valid.error());
  if (state.find_request(asked.request))  // told again: answered with what it made then
    return command::Submit{asked.request, submitter, job, {}, now};
  for (const Dependency& dependency : job.after)
    if (state.find_job(dependency.job) == nullptr)
      return wire::Refused{exit_failed,
                           "--after: there is no job " + std::to_string(dependency.job.value) +
                               " (any more); gpl status --all lists those that there are",
                           std::nullopt};
  if (auto refused = if_ambiguous(state, job.requirement.on)) return std::move(*refused);
  if (!job.allow_pending) {
    Explanation explanation = explain_new(state, job.requirement, all_reported, now);
    if (explanation.verdict == Verdict::never) return never(std::move(explanation));
  }
  std::vector<command::Placing> placings;
  if (may_place) placings = place_at_submit(state, job, now, away, submitter.peer);
  return command::Submit{asked.request, submitter, job, std::move(placings), now};
}

bool is_own(const JobRecord& job, const Submitter& asker) {
  // Who has a key of its own comes by any peer.
  if (!asker.client.empty()) return job.submitter.client == asker.client;
  return job.submitter == asker;
}

}  // namespace gpl::peer
