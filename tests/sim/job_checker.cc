#include "sim/job_checker.h"

#include <algorithm>
#include <string>

namespace gpl::sim {

namespace {

std::string name_of(JobId id) { return "job " + std::to_string(id.value); }
std::string name_of(AttemptId id) { return "attempt " + std::to_string(id.value); }

bool share_device(const Attempt& one, const Attempt& other) {
  if (one.slot == other.slot) return false;
  for (const auto& claim : one.allocation.devices)
    for (const auto& another : other.allocation.devices)
      if (claim.device == another.device) return true;
  return false;
}

}  // namespace

void JobChecker::acknowledged(const RequestId& request, JobId job, raft::Term term) {
  const auto [known, first] = acknowledged_.try_emplace(request, Acknowledged{job, term});
  if (first) world_.count(Figure::jobs_acknowledged);
  // What is asked again after its job was pruned is a new job.
  if (!first && pruned_) known->second = {job, term};
  if (known->second.job != job)
    world_.violate("one request was acknowledged as " + name_of(known->second.job) + " and as " +
                   name_of(job));
}

void JobChecker::applied(const peer::AppliedEntry& entry, const ClusterState& state) {
  if (entry.index <= seen_) return;
  seen_ = entry.index;
  for (std::size_t i = 0; i < entry.commands.size(); ++i)
    applied(entry.commands[i], entry.results[i], state);
}

void JobChecker::applied(const Command& command, const Applied& result, const ClusterState& state) {
  if (result.refused) return;
  if (const auto* submit = std::get_if<command::Submit>(&command)) submitted(*submit, result);
  if (const auto* report = std::get_if<command::Report>(&command)) reported(*report, result);
  if (const auto* lost = std::get_if<command::AttemptsLost>(&command)) given_up(lost->attempts);
  if (const auto* over = std::get_if<command::LeasesOver>(&command)) {
    given_up(over->attempts);
    world_.count(Figure::leases_over, over->attempts.size());
  }
  if (std::holds_alternative<command::Prune>(command)) pruned_ = true;
  for (const auto id : result.placed) placed(id, state);
  world_.count(Figure::overlaps_reported, result.overlaps.size());
  world_.count(Figure::jobs_ended, result.ended.size());
  ended_.insert(result.ended.begin(), result.ended.end());
}

void JobChecker::submitted(const command::Submit& submit, const Applied& result) {
  if (!result.job) return world_.violate("a submit was taken and made no job");
  const auto [known, first] = jobs_.try_emplace(submit.request, *result.job);
  if (!first && pruned_) known->second = *result.job;
  if (known->second != *result.job)
    world_.violate("one request made " + name_of(known->second) + " and " + name_of(*result.job));
}

void JobChecker::placed(AttemptId id, const ClusterState& state) {
  const auto* attempt = state.find_attempt(id);
  if (attempt == nullptr) return;
  for (const auto other_id : state.attempts_on(attempt->peer)) {
    const auto* other = state.find_attempt(other_id);
    if (other_id != id && share_device(*attempt, *other))
      world_.violate(name_of(id) + " and " + name_of(other_id) + " hold one device of peer " +
                     std::to_string(attempt->peer.value));
  }
  for (const auto other_id : state.attempts_of(attempt->job))
    if (other_id != id && state.find_attempt(other_id)->task == attempt->task)
      world_.violate(name_of(id) + " and " + name_of(other_id) + " are at one task of " +
                     name_of(attempt->job));
}

void JobChecker::reported(const command::Report& report, const Applied& result) {
  if (result.given_up) return;
  if (!settled_.insert(report.attempt.attempt).second)
    world_.violate("an outcome of " + name_of(report.attempt.attempt) +
                   " is taken, which had one or was given up");
}

void JobChecker::given_up(const std::vector<Fence>& attempts) {
  for (const auto& fence : attempts) settled_.insert(fence.attempt);
}

void JobChecker::leads(const std::string& name, raft::Term term, const ClusterState& state) {
  for (const auto& [request, known] : acknowledged_) {
    // One that slept through an election may still think that it leads its old term.
    if (known.term > term) continue;
    const bool pruned = pruned_ && ended_.contains(known.job);
    if (state.find_request(request) == known.job || pruned) continue;
    world_.violate(name + " leads and does not know " + name_of(known.job) +
                   ", which was acknowledged");
    return;
  }
}

void JobChecker::settled(raft::Term term, const ClusterState& state, bool jobs_end) {
  leads("the settled leader", term, state);
  if (!jobs_end) return;
  state.for_each_job([&](const JobRecord& job) {
    if (!job.has_ended()) world_.violate(name_of(job.id) + " has not ended");
  });
}

}  // namespace gpl::sim
