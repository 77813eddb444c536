#include "gpl/core/cluster_state.h"
#include "gpl/core/hex.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <string>
#include <utility>
#include <variant>

#include "apply.h"
#include "state.h"
#include "state_change.h"
#include "state_digest.h"

namespace gpl {

ClusterState::ClusterState() : state_(std::make_unique<State>()) {}
ClusterState::ClusterState(std::unique_ptr<State> state) : state_(std::move(state)) {}
ClusterState::~ClusterState() = default;
ClusterState::ClusterState(ClusterState&&) noexcept = default;
ClusterState& ClusterState::operator=(ClusterState&&) noexcept = default;

namespace {

Status check_level(const State& state, const Command& command) {
  const std::uint32_t level = feature_level_of(command);
  if (level <= state.counters.feature_level) return success();
  return Error{Code::unsupported, "'" + std::string(name_of(command)) +
                                      "' needs every peer to be upgraded: it is of feature level " +
                                      std::to_string(level) + ", the cluster is at " +
                                      std::to_string(state.counters.feature_level)};
}

}  // namespace

Applied ClusterState::apply(const Command& command) {
  Effect effect;
  Status status = check_level(*state_, command);
  if (status.ok())
    status = std::visit([&](const auto& one) { return gpl::apply(*state_, one, effect); }, command);
  if (!status.ok()) {
    Applied refused;
    refused.refused = std::move(status).error();
    return refused;
  }
  if (effect.changed)
    state_->counters.digest = digest_after(state_->counters.digest, command, effect.applied);
  return std::move(effect.applied);
}

const JobRecord* ClusterState::find_job(JobId id) const { return state_->jobs.find(id); }

const JobRecord* ClusterState::job_after(JobId id) const { return state_->jobs.after(id); }

std::optional<JobId> ClusterState::find_request(const RequestId& request) const {
  const auto found = state_->index.requests.find(request);
  if (found == state_->index.requests.end()) return std::nullopt;
  return found->second;
}

std::size_t ClusterState::job_count() const { return state_->jobs.size(); }

std::vector<JobId> ClusterState::placeable(JobId from, std::size_t at_most) const {
  std::vector<JobId> jobs;
  const auto& all = state_->index.placeable;
  auto at = all.begin();
  if (from != JobId{}) {
    const JobRecord* job = find_job(from);
    at = job == nullptr ? all.end() : all.lower_bound(place_of(*job));
  }
  for (; at != all.end() && jobs.size() < at_most; ++at) jobs.push_back(at->job);
  return jobs;
}

std::optional<QueuePlace> ClusterState::placeable_after(
    const std::optional<QueuePlace>& place) const {
  const auto& all = state_->index.placeable;
  const auto at = place ? all.upper_bound(*place) : all.begin();
  if (at == all.end()) return std::nullopt;
  return *at;
}

bool ClusterState::is_placeable(const QueuePlace& place) const {
  return state_->index.placeable.count(place) != 0;
}

std::size_t ClusterState::placeable_before(const QueuePlace& place, std::size_t at_most) const {
  const auto& all = state_->index.placeable;
  std::size_t count = 0;
  for (auto at = all.begin(); at != all.end() && *at < place && count < at_most; ++at) ++count;
  return count;
}

std::vector<Dependency> ClusterState::blocked_by(JobId id) const {
  std::vector<Dependency> blocking;
  const JobRecord* job = find_job(id);
  if (job == nullptr || job->has_ended()) return blocking;
  for (const Dependency& dependency : job->description->after) {
    if (!find_job(dependency.job)->has_ended()) blocking.push_back(dependency);
  }
  return blocking;
}

std::uint64_t ClusterState::placings_left(JobId id) const {
  const JobRecord* job = find_job(id);
  if (job == nullptr) return 0;
  const auto limit = limit_of(*job->description);
  if (!limit) return std::numeric_limits<std::uint64_t>::max();
  const auto used = state_->index.slots_used.find(id);
  return used == state_->index.slots_used.end() ? *limit : *limit - std::min(*limit, used->second);
}

std::optional<TaskRange> ClusterState::first_waiting(JobId id, TaskId from) const {
  const WaitingTasks* run = run_from(state_->waiting, id, from);
  if (run == nullptr) return std::nullopt;
  return run->tasks;
}

namespace {

template <class Run, class F>
void for_each_run(const PartedTable<Run>& table, JobId job, F&& f) {
  for (const Run* run = run_from(table, job, TaskId{}); run != nullptr && run->job == job;
       run = table.after(key_of(*run)))
    f(*run);
}

// Nothing for attempts that have not begun, more than one of them, or no time limit: how long
// staging takes is not known.
std::optional<Instant> ends_by(const State& state, AttemptId slot) {
  const auto last = state.index.last_of(slot);
  if (!last) return std::nullopt;
  const Attempt& attempt = *state.attempts.find(*last);
  const auto* started = std::get_if<Started>(&attempt.state);
  const auto& limit = state.jobs.find(attempt.job)->description->spec.time_limit;
  if (started == nullptr || !limit) return std::nullopt;
  constexpr std::int64_t latest = std::numeric_limits<std::int64_t>::max();
  if (started->at.since_epoch_ms > latest - limit->count_ms) return std::nullopt;
  return started->at + *limit;
}

}  // namespace

std::vector<TaskRange> ClusterState::waiting(JobId id) const {
  std::vector<TaskRange> ranges;
  for_each_run(state_->waiting, id, [&](const auto& run) { ranges.push_back(run.tasks); });
  return ranges;
}

std::vector<AttemptId> ClusterState::attempts_of(JobId id) const {
  std::vector<AttemptId> attempts;
  for_each_of(state_->index.by_job, id, [&](AttemptId one) { attempts.push_back(one); });
  return attempts;
}

bool ClusterState::is_news_that_ran(const Fence& fence) const {
  const FencedAttempt* found = state_->fenced.find(fence.attempt);
  return found != nullptr && found->fence == fence && gpl::is_news_that_ran(*state_, *found);
}

bool ClusterState::is_news_that_outlived(const Fence& fence) const {
  const FencedAttempt* found = state_->fenced.find(fence.attempt);
  return found != nullptr && found->fence == fence && gpl::is_news_that_outlived(*state_, *found);
}

std::vector<EndedTasks> ClusterState::ended(JobId id) const {
  std::vector<EndedTasks> ranges;
  for_each_run(state_->ended, id, [&](const auto& run) { ranges.push_back(run); });
  return ranges;
}

std::optional<Outcome> ClusterState::outcome_of(JobId id, TaskId task) const {
  const EndedTasks* run = run_of(state_->ended, id, task);
  if (run == nullptr) return std::nullopt;
  return run->outcome;
}

std::uint32_t ClusterState::retries_of(JobId id, TaskId task) const {
  const RetriedTasks* run = run_of(state_->retried, id, task);
  return run == nullptr ? 0 : run->count;
}

const Attempt* ClusterState::find_attempt(AttemptId id) const { return state_->attempts.find(id); }

std::vector<AttemptId> ClusterState::attempts_on(PeerId peer) const {
  std::vector<AttemptId> attempts;
  for_each_of(state_->index.by_peer, peer, [&](AttemptId id) { attempts.push_back(id); });
  return attempts;
}

const PeerRecord* ClusterState::find_peer(PeerId id) const { return state_->peers.find(id); }

std::vector<PeerId> ClusterState::peers() const {
  std::vector<PeerId> ids;
  for (const PeerRecord* peer = state_->peers.first(); peer != nullptr;
       peer = state_->peers.after(peer->id))
    ids.push_back(peer->id);
  return ids;
}

std::int64_t ClusterState::free_cpus(PeerId id) const {
  const PeerRecord* peer = find_peer(id);
  assert(peer != nullptr);
  return std::max<std::int64_t>(peer->offer.host.cpus - state_->index.load_of(id).cpus, 0);
}

namespace {

constexpr std::size_t most_loads_listed = 8;

int as_int(std::int64_t cpus) {
  return static_cast<int>(std::min<std::int64_t>(cpus, std::numeric_limits<int>::max()));
}

std::string holder_name(JobId job) { return "job " + std::to_string(job.value); }

// Of a card that was cut into slices since, or is whole again, a share is in the way of all that is
// offered now.
bool is_as_offered(const DeviceClaim& claim, const PeerOffer& offer) {
  return std::none_of(
      offer.accelerators.begin(), offer.accelerators.end(), [&](const Accelerator& device) {
        return device.kind == claim.device.kind && device.index == claim.device.index &&
               device.partitions.empty() != claim.device.slice.empty();
      });
}

}  // namespace

PeerView ClusterState::view_of(PeerId id) const {
  const PeerRecord* peer = find_peer(id);
  assert(peer != nullptr);
  const PeerLoad& load = state_->index.load_of(id);
  PeerView view = gpl::view_of(peer->offer);
  view.id = hex(id.value);
  view.reported_at = peer->reported_at;
  view.unreachable_since = peer->down_at;
  view.cpus_held = as_int(load.cpus);
  view.memory_held_bytes = load.memory_bytes;
  for (const HeldClaim& held : load.claims) {
    const DeviceClaim& claim = held.claim;
    const auto share = is_as_offered(claim, peer->offer) ? claim.shared_memory_bytes : std::nullopt;
    view.holds.push_back({claim.device.kind, claim.device.index, claim.device.slice, share,
                          holder_name(held.job), held.since, ends_by(*state_, held.slot)});
  }
  // Thousands may hold a processor each, and the scheduler asks for views often.
  for (const auto& [slot, share] : load.shares) {
    if (view.loads.size() == most_loads_listed) break;
    view.loads.push_back({as_int(share.cpus), share.memory_bytes, holder_name(share.job),
                          share.since, ends_by(*state_, slot)});
  }
  return view;
}

std::uint64_t ClusterState::epoch() const { return state_->counters.epoch; }
std::uint32_t ClusterState::feature_level() const { return state_->counters.feature_level; }
JobId ClusterState::next_job() const { return state_->counters.next_job; }
std::uint64_t ClusterState::digest() const { return state_->counters.digest; }

}  // namespace gpl
