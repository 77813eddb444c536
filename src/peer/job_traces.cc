#include "gpl/peer/job_traces.h"

#include <utility>

#include "gpl/core/overloaded.h"

namespace gpl::peer {

void JobTraces::applied(const ClusterState& state, const Command& command, const Applied& result) {
  for (const AttemptId id : result.placed) {
    const Attempt* attempt = state.find_attempt(id);
    const PeerRecord* peer = attempt != nullptr ? state.find_peer(attempt->peer) : nullptr;
    if (peer == nullptr) continue;
    under_way_[id] = attempt->job;
    traces_[attempt->job] = Trace{peer->offer.name, std::nullopt};
  }
  if (const auto* started = std::get_if<command::Start>(&command)) {
    const auto job = under_way_.find(started->attempt.attempt);
    if (job != under_way_.end()) traces_[job->second].started_at = started->at;
  }
  if (const auto* ended = std::get_if<command::Report>(&command))
    under_way_.erase(ended->attempt.attempt);
  if (std::holds_alternative<command::Prune>(command)) {
    const auto is_forgotten = [&](JobId job) { return state.find_job(job) == nullptr; };
    std::erase_if(traces_, [&](const auto& entry) { return is_forgotten(entry.first); });
    std::erase_if(under_way_, [&](const auto& entry) { return is_forgotten(entry.second); });
  }
}

const JobTraces::Trace* JobTraces::find(JobId job) const {
  const auto found = traces_.find(job);
  return found == traces_.end() ? nullptr : &found->second;
}

}  // namespace gpl::peer
