#include <algorithm>
#include <utility>

#include "gpl/core/overloaded.h"
#include "gpl/peer/peer.h"
#include "gpl/posix/clock.h"

namespace gpl::peer {
namespace {

/// Of attempts that made nothing and whose output is with its client, so many stay for gpl logs.
constexpr std::size_t most_delivered = 1000;
constexpr Duration collect_again = seconds(10);
constexpr Duration stage_again = seconds(2);
constexpr Duration clients_come_back = seconds(60);

}  // namespace

void Peer::take(wire::KeeperToPeer message) {
  std::visit(
      Overloaded{
          [](const wire::KeeperHello&) {},
          [this](const wire::from_keeper::ToLeader& said) {
            // A keeper that has just begun does not know yet what it offers.
            const auto* hello = std::get_if<to_leader::Hello>(&said.message);
            if (hello != nullptr && hello->offer.name.empty()) return;
            parts_.consensus->receive(parts_.identity.peer, said.message);
          },
          [this](const wire::from_keeper::Prepare& asked) {
            parts_.attempts->take(asked);
            prepare(asked);
          },
          [this](const wire::from_keeper::Grew& grew) { parts_.attempts->take(grew); },
          [this](const wire::from_keeper::InputTaken& taken) { parts_.calls->take(taken); },
          [this](const wire::from_keeper::Ended& ended) {
            parts_.attempts->take(ended);
            collect_ended();
          },
          [this](const wire::from_keeper::Running& running) { parts_.attempts->take(running); },
          [this](const wire::from_keeper::ExecGrew& grew) { parts_.calls->take(grew); },
          [this](const wire::from_keeper::ExecEnded& ended) { parts_.calls->take(ended); },
          [this](const wire::from_keeper::KeeperNote& note) { log("keeper: " + note.text); },
          [this](const wire::from_keeper::Listed& listed) {
            parts_.attempts->take(listed);
            parts_.news->all_changed();
            collect_ended();
          }},
      message);
}

void Peer::keeper_changed(bool connected) {
  if (!connected) {
    parts_.attempts->keeper_lost();
    parts_.calls->keeper_lost();
    return;
  }
  tell_offer();
  parts_.watch->tell_all();
  come_back_ = parts_.loop.after(clients_come_back, [this] { let_go_of_unfollowed(); });
}

/// The last of a job's attached clients is gone.
void Peer::abandoned(JobId job) {
  for (const Fence& fence : parts_.attempts->of(job))
    parts_.keeper->send(wire::to_keeper::Follow{fence, false, 0, 0});
}

/// The keeper goes on as if the clients of an earlier peer process were there. Those that live have
/// come back by now; for others a job must not wait.
void Peer::let_go_of_unfollowed() {
  parts_.attempts->for_each([&](const LocalAttempt& attempt) {
    if (!attempt.outcome && !parts_.watch->is_attached(attempt.job))
      parts_.keeper->send(wire::to_keeper::Follow{attempt.fence, false, 0, 0});
  });
}

/// What is staged, and whose secrets these are, is in the state: without it the keeper waits.
void Peer::prepare(const wire::from_keeper::Prepare& asked) {
  if (!state_ready_) {
    to_prepare_.push_back(asked);
    return;
  }
  const auto stage = [this, asked] {
    parts_.staging->prepare(asked.job, asked.task, asked.attempt, asked.tree,
                            [this, asked](std::optional<FailedToStart> failure) {
                              prepared(asked, std::move(failure));
                            });
  };
  asked.tree.empty() ? stage() : parts_.pins->then(stage);
}

void Peer::prepared(const wire::from_keeper::Prepare& asked, std::optional<FailedToStart> failure) {
  wire::to_keeper::Prepared prepared;
  prepared.attempt = asked.attempt;
  prepared.followed = parts_.watch->is_attached(asked.job);
  const ClusterState* state = parts_.consensus->state();
  if (state == nullptr) {
    to_prepare_.push_back(asked);
    return;
  }
  const JobRecord* job = state->find_job(asked.job);
  if (!failure && job == nullptr) failure = FailedToStart{0, 125, "its job is not known any more"};
  if (!failure && !job->description->spec.secrets.empty()) {
    Result<std::vector<wire::Secret>> secrets = parts_.secrets->find(job->request);
    if (secrets.ok()) {
      prepared.secrets = std::move(secrets).value();
    } else {
      failure = FailedToStart{0, 125, "its secrets are gone: " + secrets.error().message};
    }
  }
  // Not the job's fault, and over by itself.
  if (failure && short_of_space()) {
    to_prepare_.push_back(asked);
    stage_again_ = parts_.loop.after(stage_again, [this] { prepare_waiting(); });
    return;
  }
  if (failure) {
    parts_.keeper->send(wire::to_keeper::NotPrepared{asked.attempt, std::move(*failure)});
  } else {
    parts_.keeper->send(std::move(prepared));
  }
}

void Peer::prepare_waiting() {
  for (const auto& asked : std::exchange(to_prepare_, {})) prepare(asked);
}

/// What attempts that have ended here made is put away; the folders of those whose job is forgotten
/// go. Not before the state is known: it tells which these are.
void Peer::collect_ended() {
  if (!state_ready_ || !parts_.attempts->complete()) return;
  const ClusterState* state = parts_.consensus->state();
  if (state == nullptr) return;
  std::vector<Fence> forgotten;
  std::vector<std::pair<Fence, StagingMode>> due;
  parts_.attempts->for_each([&](const LocalAttempt& attempt) {
    if (!attempt.outcome) return;
    const JobRecord* job = state->find_job(attempt.job);
    if (job == nullptr) {
      forgotten.push_back(attempt.fence);
    } else if (!attempt.collected && !collecting_.contains(attempt.fence)) {
      due.emplace_back(attempt.fence, job->description->spec.staging);
    }
  });
  for (const Fence& fence : forgotten) discard(fence);
  for (const auto& [fence, mode] : due) collect(*parts_.attempts->find(fence), mode);
}

void Peer::collect(const LocalAttempt& attempt, StagingMode mode) {
  const Fence fence = attempt.fence;
  // Found before the keeper was connected anew.
  if (parts_.results->has(attempt.job, fence)) return parts_.attempts->collected(fence);
  collecting_.insert(fence);
  clearing_.insert(fence);
  parts_.staging->collect(
      attempt.job, attempt.task, fence, mode,
      [this, fence](Result<std::vector<wire::ResultFile>> files) {
        found(fence, std::move(files));
      },
      [this, fence] { cleared(fence); });
}

/// Nothing but what is kept is left in its folder, which may go if it was to.
void Peer::cleared(const Fence& fence) {
  clearing_.erase(fence);
  if (to_discard_.erase(fence) > 0) discard(fence);
}

void Peer::found(const Fence& fence, Result<std::vector<wire::ResultFile>> files) {
  collecting_.erase(fence);
  if (!files.ok()) {
    // What it made stays where it is, and is looked for again.
    log(files.error().message);
    parts_.attempts->not_collected(fence, files.error());
    cleared(fence);
    collect_again_ = parts_.loop.after(collect_again, [this] { collect_ended(); });
    return;
  }
  const LocalAttempt* attempt = parts_.attempts->find(fence);
  if (attempt == nullptr) return;
  parts_.results->add(attempt->job, attempt->task, fence, std::move(files).value(),
                      posix::wall_clock());
  parts_.attempts->collected(fence);
}

void Peer::discard(const Fence& fence) {
  if (clearing_.contains(fence)) {
    to_discard_.insert(fence);
    return;
  }
  parts_.keeper->send(wire::to_keeper::Discard{fence});
  parts_.attempts->discarded(fence);
}

/// Nothing of these is kept for anyone but to be looked at: a shell's loop of runs must not fill
/// the disk.
void Peer::delivered(const std::vector<Fence>& attempts) {
  for (const Fence& fence : attempts) delivered_.push_back(fence);
  while (delivered_.size() > most_delivered) {
    const Fence oldest = delivered_.front();
    delivered_.pop_front();
    const LocalAttempt* attempt = parts_.attempts->find(oldest);
    if (attempt != nullptr && attempt->collected && !parts_.watch->is_watched(oldest) &&
        !parts_.results->has(attempt->job, oldest))
      discard(oldest);
  }
}

}  // namespace gpl::peer
