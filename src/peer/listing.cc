#include "gpl/peer/listing.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gpl/peer/admission.h"
#include "gpl/peer/lending.h"

namespace gpl::peer {
namespace {

/// Of a query that is not about a range.
bool is_asked(const wire::JobQuery& query, const JobRecord& job, const Submitter& asker) {
  if (!query.everyone && !is_own(job, asker)) return false;
  return query.which != wire::JobQuery::Which::active || !job.has_ended();
}

std::vector<JobId> in_range(const ClusterState& state, JobId first, JobId last) {
  std::vector<JobId> jobs;
  if (first > last) return jobs;
  // The ids before the first are passed over without a walk.
  const JobRecord* job = state.find_job(first);
  if (job == nullptr) job = state.job_after(first);
  for (; job != nullptr && job->id <= last; job = state.job_after(job->id)) jobs.push_back(job->id);
  return jobs;
}

bool is_blocked(const ClusterState& state, const JobRecord& job) {
  return !job.description->after.empty() && !state.blocked_by(job.id).empty();
}

/// The most recent ends seen, newest first.
class RecentEnds {
 public:
  void note(const JobRecord& job) {
    const Entry entry{*job.ended_at, job.id};
    if (ends_.size() == most_ended_listed && entry <= ends_.back()) return;
    ends_.insert(std::upper_bound(ends_.begin(), ends_.end(), entry, std::greater<>()), entry);
    if (ends_.size() > most_ended_listed) ends_.pop_back();
  }
  const std::vector<std::pair<Instant, JobId>>& newest_first() const { return ends_; }

 private:
  using Entry = std::pair<Instant, JobId>;
  std::vector<Entry> ends_;
};

/// What one walk over the jobs tells.
struct Overview {
  std::size_t active = 0;
  std::vector<QueuePlace> off_the_queue;  ///< held or blocked, none of it under way
  RecentEnds ends;
};

Overview look_over(const ClusterState& state) {
  Overview seen;
  state.for_each_job([&](const JobRecord& job) {
    if (job.has_ended()) {
      seen.ends.note(job);
      return;
    }
    ++seen.active;
    if (job.under_way_count == 0 && (job.held || is_blocked(state, job)))
      seen.off_the_queue.push_back({job.description->priority, job.id});
  });
  std::sort(seen.off_the_queue.begin(), seen.off_the_queue.end());
  return seen;
}

std::set<JobId> jobs_under_way(const ClusterState& state) {
  std::set<JobId> jobs;
  for (const PeerId peer : state.peers()) {
    for (const AttemptId attempt : state.attempts_on(peer))
      jobs.insert(state.find_attempt(attempt)->job);
  }
  return jobs;
}

void list_active(const ClusterState& state, const Overview& seen, const ListingContext& context,
                 Instant now, wire::ClusterStatus& status) {
  const std::set<JobId> under_way = jobs_under_way(state);
  // What is under way may be in the queue as well: the tasks of an array that are still to come.
  const std::size_t front = most_active_listed + under_way.size();
  const QueuePositions positions(state, front);
  ListingContext with_positions = context;
  with_positions.positions = &positions;
  const auto list = [&](JobId job) {
    if (status.active.size() < most_active_listed)
      status.active.push_back(summarise(state, job, with_positions, now));
  };
  for (const JobId job : under_way) list(job);
  for (const JobId job : state.placeable({}, front)) {
    if (under_way.count(job) == 0) list(job);
  }
  for (const QueuePlace& waiting : seen.off_the_queue) list(waiting.job);
  status.more_active = seen.active - std::min(seen.active, status.active.size());
}

std::string state_of(const ClusterState& state, const PeerRecord& peer) {
  if (peer.down_at) return "unreachable";
  if (peer.offer.closed != draining_word) return "up";
  return state.attempts_on(peer.id).empty() ? "drained" : "draining";
}

wire::PeerSummary summarise_peer(const ClusterState& state, PeerId id) {
  const PeerRecord& peer = *state.find_peer(id);
  wire::PeerSummary summary;
  summary.id = id;
  summary.view = state.view_of(id);
  summary.state = state_of(state, peer);
  summary.up_at = peer.up_at;
  summary.cpus_lent = peer.offer.host.cpus;
  summary.memory_lent_bytes = peer.offer.host.memory_bytes;
  return summary;
}

}  // namespace

std::vector<JobId> select(const ClusterState& state, const wire::JobQuery& query,
                          const Submitter& asker) {
  if (query.which == wire::JobQuery::Which::range) return in_range(state, query.first, query.last);
  std::vector<JobId> jobs;
  state.for_each_job([&](const JobRecord& job) {
    if (!is_asked(query, job, asker)) return;
    if (query.which == wire::JobQuery::Which::last) jobs.clear();
    jobs.push_back(job.id);
  });
  return jobs;
}

wire::ClusterStatus cluster_status(const ClusterState& state, const ClusterFacts& facts,
                                   const ListingContext& context, Instant now) {
  wire::ClusterStatus status;
  status.cluster = facts.cluster;
  status.leader = facts.leader;
  status.voters = facts.voters;
  status.can_lose = facts.can_lose;
  status.unprotected = facts.unprotected;
  for (const PeerId peer : state.peers()) status.peers.push_back(summarise_peer(state, peer));
  std::sort(status.peers.begin(), status.peers.end(),
            [](const wire::PeerSummary& a, const wire::PeerSummary& b) {
              return std::tie(a.view.name, a.id) < std::tie(b.view.name, b.id);
            });
  const Overview seen = look_over(state);
  list_active(state, seen, context, now, status);
  for (const auto& [at, job] : seen.ends.newest_first())
    status.ended.push_back(summarise(state, job, context, now));
  return status;
}

}  // namespace gpl::peer
