#include "gpl/peer/mirrors.h"

#include <utility>
#include <vector>

#include "gpl/peer/known_jobs.h"
#include "mirrors_state.h"

namespace gpl::peer {
namespace {

constexpr Duration clients_come_back = seconds(60);
constexpr Duration first_patience = milliseconds(20);

}  // namespace

std::optional<PeerId> keeps_copy(const ClusterState& state, const JobRecord& job, PeerId worker) {
  const PeerId home = job.submitter.peer;
  if (home != worker && state.find_peer(home) != nullptr) return home;
  if (home == worker && job.submitter.client.empty()) return std::nullopt;
  for (const PeerId peer : state.peers()) {
    if (peer != worker && !state.find_peer(peer)->down_at) return peer;
  }
  return std::nullopt;
}

void Mirrors::State::add(const MirrorSubject& subject) {
  const auto [entry, added] = copies.try_emplace(subject.fence);
  if (!added) return;
  Copy& copy = entry->second;
  copy.subject = subject;
  copy.followed = around.is_attached(subject.job);
  copy.patience = first_patience;
  by_job.emplace(subject.job, subject.fence);
  around.attempts.take_mirror(subject.fence, subject.job, subject.task, subject.worker);
  // Not at once: a client may be about to follow it.
  touch(subject.fence);
}

void Mirrors::State::consider(const ClusterState& state, const Attempt& attempt) {
  if (attempt.peer == around.self || copies.contains(attempt.fence)) return;
  const JobRecord* job = state.find_job(attempt.job);
  if (job == nullptr || keeps_copy(state, *job, attempt.peer) != around.self) return;
  add({attempt.fence, attempt.job, attempt.task, attempt.peer});
}

void Mirrors::State::take_found(MirrorFolders::Found found) {
  const Fence fence = found.subject.fence;
  Copy& copy = copies[fence];
  copy.subject = found.subject;
  copy.bytes = copy.came = found.bytes;
  copy.over = std::move(found.over);
  copy.patience = first_patience;
  copy.reported = true;  // unless it is under way: see look_all
  by_job.emplace(copy.subject.job, fence);
  around.attempts.take_mirror(fence, copy.subject.job, copy.subject.task, copy.subject.worker);
  if (copy.over) {
    copy.stage = Stage::complete;
    return tell_end(copy);
  }
  // Attached clients of the process before this one come back: until then nothing is dropped.
  copy.followed = true;
  around.attempts.take(wire::from_keeper::Grew{fence, copy.bytes[0], copy.bytes[1], false});
  touch(fence);
}

void Mirrors::State::let_go_of_unfollowed() {
  std::vector<Fence> unfollowed;
  for (const auto& [fence, copy] : copies) {
    if (copy.followed && copy.stage != Stage::complete && !around.is_attached(copy.subject.job))
      unfollowed.push_back(fence);
  }
  for (Copy* copy = nullptr; const Fence& fence : unfollowed) {
    if ((copy = find(fence)) == nullptr) continue;
    copy->followed = false;
    if (copy->output) copy->output->follow(false, 0, 0);
    if (copy->question) end_question(*copy);
    touch(fence);
  }
}

void Mirrors::State::discard(const Fence& fence) {
  const auto entry = copies.find(fence);
  if (entry == copies.end()) return;
  if (entry->second.question) end_question(entry->second);
  waiting.erase(fence);
  by_job.erase({entry->second.subject.job, fence});
  copies.erase(entry);
  around.attempts.discarded(fence);
  const std::string name = folders.move_away(fence);
  if (!name.empty())
    around.pool.submit([kept = folders, name] { kept.remove(name); }, Pool::Length::lengthy);
}

/// Nothing more of it will come.
void Mirrors::State::give_up(Copy& copy) {
  if (copy.stage == Stage::told || copy.stage == Stage::complete) return;
  if (copy.question) end_question(copy);
  waiting.erase(copy.subject.fence);
  copy.again.cancel();
  copy.over = wire::AttemptOver{};
  copy.stage = Stage::told;
  touch(copy.subject.fence);
}

Mirrors::Mirrors(Around around) : state_(std::make_shared<State>(std::move(around))) {}

Mirrors::~Mirrors() {
  for (const auto& [fence, copy] : state_->copies)
    if (copy.question) state_->around.far.forget(*copy.question);
}

Status Mirrors::restore() {
  std::vector<std::string> leftovers;
  Result<std::vector<MirrorFolders::Found>> found = state_->folders.list(leftovers);
  if (!found.ok()) return std::move(found).error();
  for (const std::string& name : leftovers)
    state_->around.pool.submit([kept = state_->folders, name] { kept.remove(name); },
                               Pool::Length::lengthy);
  for (MirrorFolders::Found& each : found.value()) state_->take_found(std::move(each));
  state_->come_back = state_->around.loop.after(
      clients_come_back, [state = state_.get()] { state->let_go_of_unfollowed(); });
  return success();
}

void Mirrors::placed(const ClusterState& state, AttemptId attempt) {
  if (const Attempt* there = state.find_attempt(attempt)) state_->consider(state, *there);
}

void Mirrors::forget(JobId job) {
  std::vector<Fence> gone;
  for (auto at = state_->by_job.lower_bound({job, Fence{}});
       at != state_->by_job.end() && at->first == job; ++at)
    gone.push_back(at->second);
  for (const Fence& fence : gone) state_->discard(fence);
}

void Mirrors::look_all(const ClusterState& state) {
  for (const PeerId peer : state.peers()) {
    if (peer == state_->around.self) continue;
    for (const AttemptId attempt : state.attempts_on(peer)) placed(state, attempt);
  }
  std::vector<Fence> gone;
  std::set<PeerId> gone_peers;
  for (auto& [fence, copy] : state_->copies) {
    if (is_forgotten(state, copy.subject.job)) gone.push_back(fence);
    const PeerRecord* worker = state.find_peer(copy.subject.worker);
    if (worker == nullptr) gone_peers.insert(copy.subject.worker);
    const Attempt* attempt = state.find_attempt(fence.attempt);
    const bool under_way = attempt != nullptr && attempt->fence == fence;
    if (under_way) copy.reported = false;
    // It ended while nobody was here to see how.
    if (!under_way && worker != nullptr && worker->down_at) state_->give_up(copy);
  }
  for (const Fence& fence : gone) state_->discard(fence);
  for (const PeerId peer : gone_peers) peer_is_gone(peer);
}

void Mirrors::peer_is_up(PeerId peer) {
  for (auto& [fence, copy] : state_->copies) {
    if (copy.subject.worker != peer || copy.stage != State::Stage::broken) continue;
    copy.stage = State::Stage::waits;
    copy.again.cancel();
    state_->touch(fence);
  }
}

void Mirrors::reported(const Fence& attempt) {
  if (State::Copy* copy = state_->find(attempt); copy != nullptr) copy->reported = true;
}

void Mirrors::lost(const Fence& attempt) {
  State::Copy* copy = state_->find(attempt);
  if (copy != nullptr && !copy->reported) state_->give_up(*copy);
}

void Mirrors::peer_is_down(PeerId peer) {
  for (auto& [fence, copy] : state_->copies)
    if (copy.subject.worker == peer && !copy.reported && !state_->around.is_under_way(fence))
      state_->give_up(copy);
}

void Mirrors::peer_is_gone(PeerId peer) {
  for (auto& [fence, copy] : state_->copies)
    if (copy.subject.worker == peer) state_->give_up(copy);
}

bool Mirrors::has(const Fence& attempt) const { return state_->copies.contains(attempt); }

bool Mirrors::is_complete(const Fence& attempt) const {
  const State::Copy* copy = state_->find(attempt);
  return copy != nullptr && copy->stage == State::Stage::complete;
}

std::string Mirrors::folder_of(const Fence& attempt) const {
  return state_->folders.path_of(attempt);
}

/// Whether somebody follows is for the worker to know too: it is asked anew when that changes.
void Mirrors::follow(const wire::to_keeper::Follow& follow) {
  State::Copy* copy = state_->find(follow.attempt);
  if (copy == nullptr) return;
  copy->given = {follow.out_bytes, follow.err_bytes};
  if (copy->output) copy->output->follow(follow.on, follow.out_bytes, follow.err_bytes);
  if (copy->followed != follow.on && copy->question) state_->end_question(*copy);
  copy->followed = follow.on;
  state_->touch(follow.attempt);
}

void Mirrors::watch(const wire::to_keeper::Watch& watch) {
  State::Copy* copy = state_->find(watch.attempt);
  if (copy == nullptr) return;
  copy->watched = watch.on;
  copy->tell = watch.on;
  state_->touch(watch.attempt);
}

void Mirrors::discard(const Fence& attempt) { state_->discard(attempt); }

}  // namespace gpl::peer
