#include <algorithm>
#include <utility>

#include "gpl/core/overloaded.h"
#include "gpl/peer/peer.h"
#include "gpl/posix/clock.h"

namespace gpl::peer {

void Peer::applied(const AppliedEntry& entry) {
  for (std::size_t i = 0; i < entry.commands.size(); ++i)
    applied(entry.commands[i], entry.results[i]);
}

void Peer::applied(const Command& command, const Applied& result) {
  if (result.refused || !parts_.consensus || !state_ready_) return;
  const ClusterState& state = *parts_.consensus->state();
  if (std::holds_alternative<command::Submit>(command) && result.job) {
    tell("job " + std::to_string(result.job->value) + " was submitted");
    if (const JobRecord* job = state.find_job(*result.job)) pin(*job);
  }
  if (std::holds_alternative<command::Prune>(command)) unpin_pruned();
  for (const JobId job : result.ended) note_ended(job);
  if (std::holds_alternative<command::PeerUp>(command)) tell_ready();
}

/// All of the state anew.
void Peer::restored() {
  if (!parts_.consensus || !parts_.consensus->leads()) return;
  state_ready_ = true;
  scheduler_.restart();
  pinned_.clear();
  std::vector<std::pair<JobId, ContentId>> trees;
  std::set<RequestId> live;
  parts_.consensus->state()->for_each_job([&](const JobRecord& job) {
    if (!job.has_ended()) live.insert(job.request);
    if (job.description->tree.empty()) return;
    trees.emplace_back(job.id, job.description->tree);
    pinned_.emplace(job.id, job.description->tree);
  });
  restore_pins(std::move(trees));
  for (const RequestId& request : parts_.secrets->list())
    if (!live.contains(request)) parts_.secrets->remove(request);
  parts_.news->all_changed();
  collect_ended();
  prepare_waiting();
  resume_sessions();
  tell_ready();
}

/// Once the cluster knows what is lent here.
void Peer::tell_ready() {
  const ClusterState* state = parts_.consensus->state();
  if (!ready || !state_ready_ || !offered_ || state == nullptr) return;
  const PeerRecord* self = state->find_peer(parts_.identity.peer);
  if (self == nullptr || self->down_at || !(self->offer == *offered_)) return;
  std::exchange(ready, nullptr)();
}

/// Pins need not survive a power loss. Those of clients that live stay.
void Peer::restore_pins(std::vector<std::pair<JobId, ContentId>> trees) {
  const auto told = [this](const Status& status) {
    if (!status.ok()) log(status.error().message);
  };
  if (std::exchange(pins_asked_, true)) {
    for (const auto& [job, tree] : trees) parts_.pins->pin(job, tree, told);
    return;
  }
  parts_.pins->restore(std::move(trees), [this, told](const Status& status) {
    told(status);
    pins_restored_ = status.ok();
  });
}

void Peer::note_ended(JobId id) {
  tell("job " + std::to_string(id.value) + " has ended");
  if (const JobRecord* job = parts_.consensus->state()->find_job(id))
    if (!job->description->spec.secrets.empty()) parts_.secrets->remove(job->request);
  parts_.watch->forget(id);
  parts_.news->changed(id);
}

void Peer::pin(const JobRecord& job) {
  const ContentId& tree = job.description->tree;
  if (tree.empty() || !pinned_.emplace(job.id, tree).second) return;
  parts_.pins->pin(job.id, tree, [this](const Status& status) {
    if (!status.ok()) log(status.error().message);
  });
}

void Peer::unpin_pruned() {
  const ClusterState& state = *parts_.consensus->state();
  std::erase_if(pinned_, [&](const auto& entry) {
    if (state.find_job(entry.first) != nullptr) return false;
    parts_.pins->unpin(entry.first, entry.second);
    return true;
  });
  collect_ended();
}

}  // namespace gpl::peer
