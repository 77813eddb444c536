#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "apply.h"
#include "state_change.h"

namespace gpl {
namespace {

using Silence = StateChange::Silence;

std::vector<Attempt> attempts_there(const State& state, PeerId peer) {
  std::vector<Attempt> attempts;
  for_each_of(state.index.by_peer, peer,
              [&](AttemptId id) { attempts.push_back(*state.attempts.find(id)); });
  return attempts;
}

// Those of the list that are still under way, each once: some may have ended since the list was
// made. One that is another peer's is a mistake.
Result<std::vector<Attempt>> attempts_of_list(const State& state, PeerId peer,
                                              std::vector<Fence> fences) {
  if (state.peers.find(peer) == nullptr) return no_such_peer(peer);
  std::sort(fences.begin(), fences.end());
  fences.erase(std::unique(fences.begin(), fences.end()), fences.end());
  std::vector<Attempt> attempts;
  for (const Fence& fence : fences) {
    const Attempt* attempt = state.attempts.find(fence.attempt);
    if (attempt == nullptr || attempt->fence != fence) continue;
    if (attempt->peer != peer)
      return Error{Code::invalid, "attempt " + std::to_string(fence.attempt.value) +
                                      " is on peer " + std::to_string(attempt->peer.value) +
                                      ", not on peer " + std::to_string(peer.value)};
    attempts.push_back(*attempt);
  }
  if (attempts.empty())
    return Error{Code::not_found,
                 "none of these attempts is under way on peer " + std::to_string(peer.value)};
  return attempts;
}

}  // namespace

Error no_such_peer(PeerId id) {
  return Error{Code::not_found, "peer " + std::to_string(id.value) +
                                    " is not known: it has never reported, or was forgotten"};
}

Status apply(State& state, const command::PeerUp& up, Effect&) {
  if (up.peer == PeerId{}) return Error{Code::invalid, "0 names no peer"};
  const PeerRecord* before = state.peers.find(up.peer);
  PeerRecord record{up.peer, up.keeper, up.offer, up.at, up.at, std::nullopt};
  if (before == nullptr) {
    state.index.loads.emplace(up.peer, PeerLoad{});
    state.peers.insert(std::move(record));
    return success();
  }
  if (!before->down_at && before->keeper == up.keeper) record.up_at = before->up_at;
  state.peers.write(up.peer) = std::move(record);
  return success();
}

Status apply(State& state, const command::PeerDown& down, Effect& effect) {
  const PeerRecord* peer = state.peers.find(down.peer);
  if (peer == nullptr) return no_such_peer(down.peer);
  effect.changed = !peer->down_at;
  if (!effect.changed) return success();

  state.peers.write(down.peer).down_at = down.at;
  std::vector<Attempt> attempts = attempts_there(state, down.peer);
  std::erase_if(attempts, [&](const Attempt& attempt) {
    return state.jobs.find(attempt.job)->description->on_loss != OnLoss::fail;
  });
  StateChange change(state, effect.applied, down.at);
  change.lose(attempts, state.peers.find(down.peer)->offer.name + " is out of reach",
              Silence::may_run_on);
  change.settle();
  return success();
}

Status apply(State& state, const command::PeerForgotten& forgotten, Effect& effect) {
  const PeerRecord* peer = state.peers.find(forgotten.peer);
  if (peer == nullptr) return no_such_peer(forgotten.peer);
  StateChange change(state, effect.applied, forgotten.at);
  change.lose(attempts_there(state, forgotten.peer), peer->offer.name + " was given up",
              Silence::may_run_on);
  change.settle();
  state.peers.erase(forgotten.peer);
  state.index.loads.erase(forgotten.peer);
  return success();
}

Status apply(State& state, const command::AttemptsLost& lost, Effect& effect) {
  auto attempts = attempts_of_list(state, lost.peer, lost.attempts);
  if (!attempts.ok()) return attempts.error();
  StateChange change(state, effect.applied, lost.at);
  change.lose(attempts.value(), lost.why, Silence::ended);
  change.settle();
  return success();
}

Status apply(State& state, const command::LeasesOver& over, Effect& effect) {
  auto attempts = attempts_of_list(state, over.peer, over.attempts);
  if (!attempts.ok()) return attempts.error();
  for (const Attempt& attempt : attempts.value()) {
    if (state.jobs.find(attempt.job)->description->on_loss != OnLoss::retry)
      return Error{Code::invalid, "attempt " + std::to_string(attempt.fence.attempt.value) +
                                      " has no lease: its job is not run with on-loss retry"};
  }
  StateChange change(state, effect.applied, over.at);
  change.lose(attempts.value(), "its lease is over", Silence::ended);
  change.settle();
  return success();
}

Status apply(State& state, const command::SetFeatureLevel& set, Effect& effect) {
  const std::uint32_t level = state.counters.feature_level;
  if (set.level > newest_feature_level)
    return Error{Code::unsupported, "feature level " + std::to_string(set.level) +
                                        " is of a newer gpl: this one knows " +
                                        std::to_string(newest_feature_level)};
  if (set.level < level)
    return Error{Code::invalid,
                 "the feature level is " + std::to_string(level) + " and never goes down"};
  effect.changed = set.level != level;
  state.counters.feature_level = set.level;
  return success();
}

Status apply(State& state, const command::SetEpoch& set, Effect& effect) {
  const std::uint64_t epoch = state.counters.epoch;
  if (set.epoch < epoch)
    return Error{Code::invalid, "the epoch is " + std::to_string(epoch) + " and never goes down"};
  effect.changed = set.epoch != epoch;
  state.counters.epoch = set.epoch;
  return success();
}

}  // namespace gpl
