#include <algorithm>
#include <utility>

#include "gpl/core/overloaded.h"
#include "gpl/peer/peer.h"
#include "gpl/posix/clock.h"

namespace gpl::peer {
namespace {

constexpr Duration serves_without_leader_after = seconds(10);
constexpr Duration secrets_wait = seconds(600);

}  // namespace

void Peer::applied(const AppliedEntry& entry) {
  for (std::size_t i = 0; i < entry.commands.size(); ++i)
    applied(entry.commands[i], entry.results[i]);
}

void Peer::applied(const Command& command, const Applied& result) {
  if (result.refused || !parts_.consensus || !state_ready_) return;
  const ClusterState* state = parts_.consensus->state();
  if (state == nullptr) return;
  if (std::holds_alternative<command::Submit>(command) && result.job) {
    tell("job " + std::to_string(result.job->value) + " was submitted");
    const JobRecord* job = state->find_job(*result.job);
    parts_.news->changed(job->id);
    // Of a job that another peer took in only a second holder has the tree already.
    const ContentId& tree = job->description->tree;
    if (job->submitter.peer == parts_.identity.peer || held_.contains(tree) ||
        parts_.peer.is_pinned(tree))
      pin(job->id, tree);
    if (const auto held = held_.find(tree); held != held_.end()) {
      parts_.pins->then([this, number = held->second.pin] { parts_.pulls->release(number); });
      held_.erase(held);
    }
  }
  parts_.traces.applied(*state, command, result);
  copy_output(command, result);
  if (const auto* up = std::get_if<command::PeerUp>(&command)) names_[up->peer] = up->offer.name;
  if (std::holds_alternative<command::Prune>(command)) unpin_pruned();
  for (const JobId job : result.ended) note_ended(job);
  if (std::holds_alternative<command::PeerUp>(command)) tell_ready();
  if (!to_prepare_.empty()) prepare_waiting();
}

/// Of what is placed elsewhere, and kept here.
void Peer::copy_output(const Command& command, const Applied& result) {
  const ClusterState& state = *parts_.consensus->state();
  for (const AttemptId attempt : result.placed) parts_.mirrors->placed(state, attempt);
  if (const auto* report = std::get_if<command::Report>(&command))
    parts_.mirrors->reported(report->attempt);
  if (const auto* lost = std::get_if<command::AttemptsLost>(&command))
    for (const Fence& attempt : lost->attempts) parts_.mirrors->lost(attempt);
  if (const auto* over = std::get_if<command::LeasesOver>(&command))
    for (const Fence& attempt : over->attempts) parts_.mirrors->lost(attempt);
  if (const auto* down = std::get_if<command::PeerDown>(&command))
    parts_.mirrors->peer_is_down(down->peer);
  if (const auto* forgotten = std::get_if<command::PeerForgotten>(&command)) {
    parts_.mirrors->peer_is_gone(forgotten->peer);
    parts_.mesh->forget(forgotten->peer);
  }
  if (std::holds_alternative<command::Prune>(command)) parts_.mirrors->look_all(state);
}

/// All of the state anew.
void Peer::restored() {
  if (!parts_.consensus || parts_.consensus->state() == nullptr) return;
  state_ready_ = true;
  scheduler_.restart();
  pinned_.clear();
  for (const PeerId peer : parts_.consensus->state()->peers())
    names_[peer] = parts_.consensus->state()->find_peer(peer)->offer.name;
  std::vector<std::pair<JobId, ContentId>> trees;
  parts_.consensus->state()->for_each_job([&](const JobRecord& job) {
    if (job.description->tree.empty()) return;
    trees.emplace_back(job.id, job.description->tree);
  });
  restore_pins(std::move(trees));
  drop_old_secrets();
  parts_.mirrors->look_all(*parts_.consensus->state());
  parts_.news->all_changed();
  collect_ended();
  prepare_waiting();
  resume_sessions();
  tell_ready();
}

/// Of jobs that have ended, or were never submitted: a Submit may be on its way.
void Peer::drop_old_secrets() {
  const ClusterState& state = *parts_.consensus->state();
  for (const RequestId& request : parts_.secrets->list(secrets_wait)) {
    const auto job = state.find_request(request);
    if (!job || state.find_job(*job)->has_ended()) parts_.secrets->remove(request);
  }
}

/// Once the cluster knows what is lent here; without a majority of it, after a while all the same.
void Peer::tell_ready() {
  const ClusterState* state = parts_.consensus->state();
  if (!ready || !state_ready_ || !offered_ || state == nullptr) return;
  const PeerRecord* self = state->find_peer(parts_.identity.peer);
  if (self == nullptr || self->down_at || !(self->offer == *offered_)) {
    if (without_leader_.pending()) return;
    without_leader_ = parts_.loop.after(serves_without_leader_after, [this] {
      if (!ready) return;
      log("the cluster does not know of this peer yet: no majority of its voters is linked");
      std::exchange(ready, nullptr)();
    });
    return;
  }
  std::exchange(ready, nullptr)();
}

/// Pins need not survive a power loss. Those of clients that live stay.
void Peer::restore_pins(std::vector<std::pair<JobId, ContentId>> trees) {
  const bool first = !std::exchange(pins_asked_, true);
  std::map<JobId, ContentId> of_jobs(trees.begin(), trees.end());
  const auto restored = [this, of_jobs = std::move(of_jobs)](Result<std::vector<JobId>> whole) {
    if (!whole.ok()) return log(whole.error().message);
    pins_restored_ = true;
    for (const JobId job : whole.value()) pinned_.emplace(job, of_jobs.at(job));
    prepare_waiting();
  };
  parts_.pins->restore(std::move(trees), !first, restored);
}

void Peer::note_ended(JobId id) {
  tell("job " + std::to_string(id.value) + " has ended");
  if (const JobRecord* job = parts_.consensus->state()->find_job(id))
    if (!job->description->spec.secrets.empty()) parts_.secrets->remove(job->request);
  parts_.watch->forget(id);
  parts_.news->changed(id);
}

void Peer::pin(JobId job, const ContentId& tree) {
  if (tree.empty() || !pinned_.emplace(job, tree).second) return;
  parts_.pins->pin(job, tree, [this](const Status& status) {
    if (!status.ok()) log(status.error().message);
  });
}

void Peer::unpin_pruned() {
  const ClusterState& state = *parts_.consensus->state();
  std::erase_if(pinned_, [&](const auto& entry) {
    if (state.find_job(entry.first) != nullptr) return false;
    parts_.watch->forget(entry.first);
    parts_.pins->unpin(entry.first, entry.second);
    return true;
  });
  collect_ended();
}

}  // namespace gpl::peer
