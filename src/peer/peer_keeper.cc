#include <algorithm>
#include <utility>

#include "gpl/core/overloaded.h"
#include "gpl/peer/known_jobs.h"
#include "gpl/peer/peer.h"
#include "gpl/posix/clock.h"

namespace gpl::peer {
namespace {

/// Of attempts that made nothing and whose output is with its client, so many stay for gpl logs.
constexpr std::size_t most_delivered = 1000;
constexpr Duration collect_again = seconds(10);
constexpr Duration stage_again = seconds(2);
constexpr int most_secret_looks = 30;  // a minute
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
            parts_.consensus->to_leader(said.message);
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

/// What is said of an attempt elsewhere goes to the copy of its output.
void Peer::to_keeper(const wire::PeerToKeeper& message) {
  if (const auto* follow = std::get_if<wire::to_keeper::Follow>(&message))
    if (parts_.mirrors->has(follow->attempt)) return parts_.mirrors->follow(*follow);
  if (const auto* watch = std::get_if<wire::to_keeper::Watch>(&message))
    if (parts_.mirrors->has(watch->attempt)) return parts_.mirrors->watch(*watch);
  parts_.keeper->send(message);
}

/// The last of a job's attached clients is gone.
void Peer::abandoned(JobId job) {
  for (const Fence& fence : parts_.attempts->of(job))
    to_keeper(wire::to_keeper::Follow{fence, false, 0, 0});
}

/// The keeper goes on as if the clients of an earlier peer process were there. Those that live have
/// come back by now; for others a job must not wait.
void Peer::let_go_of_unfollowed() {
  parts_.attempts->for_each([&](const LocalAttempt& attempt) {
    if (!attempt.outcome && !parts_.watch->is_attached(attempt.job))
      to_keeper(wire::to_keeper::Follow{attempt.fence, false, 0, 0});
  });
}

/// An attempt without files and secrets needs nothing from here: it is told so before it asks.
void Peer::prepare_ahead(const LeaderToWorker& message) {
  const auto* order = std::get_if<to_worker::Order>(&message);
  const auto* start = order != nullptr ? std::get_if<to_worker::Start>(&order->what) : nullptr;
  if (start == nullptr || !start->description.tree.empty() ||
      !start->description.spec.secrets.empty())
    return;
  parts_.keeper->send(
      wire::to_keeper::Prepared{start->fence, {}, parts_.watch->is_attached(start->job)});
}

/// What is staged, and whose secrets these are, is in the state: without it the keeper waits. The
/// leader's order may be here before the entry of the log that it rests on.
void Peer::prepare(const wire::from_keeper::Prepare& asked) {
  const ClusterState* state = state_ready_ ? parts_.consensus->state() : nullptr;
  const JobRecord* job = state != nullptr ? state->find_job(asked.job) : nullptr;
  if (state == nullptr || (job == nullptr && !is_forgotten(*state, asked.job))) {
    to_prepare_.push_back(asked);
    return;
  }
  if (job == nullptr)
    return prepared(asked, FailedToStart{0, 125, "its job is not known any more"});
  if (asked.tree.empty()) return stage(asked);
  if (pinned_.contains(asked.job)) return parts_.pins->then([this, asked] { stage(asked); });
  const PeerId home = job->submitter.peer;
  const std::uint64_t number = ++last_session_;
  parts_.pulls->bring(asked.tree, home == parts_.identity.peer ? std::nullopt : std::optional(home),
                      number, [this, asked, number](const Status& brought) {
                        if (brought.ok()) {
                          pin(asked.job, asked.tree);
                          stage(asked);
                        } else {
                          prepared(asked, FailedToStart{0, 125,
                                                        "its files could not be brought here: " +
                                                            brought.error().message});
                        }
                        parts_.pins->then([this, number] { parts_.pulls->release(number); });
                      });
}

void Peer::stage(const wire::from_keeper::Prepare& asked) {
  parts_.staging->prepare(
      asked.job, asked.task, asked.attempt, asked.tree,
      [this, asked](std::optional<FailedToStart> failure) { prepared(asked, std::move(failure)); });
}

void Peer::prepared(const wire::from_keeper::Prepare& asked, std::optional<FailedToStart> failure) {
  const ClusterState* state = parts_.consensus->state();
  if (state == nullptr) {
    to_prepare_.push_back(asked);
    return;
  }
  const JobRecord* job = state->find_job(asked.job);
  if (!failure && job == nullptr) failure = FailedToStart{0, 125, "its job is not known any more"};
  // Not the job's fault, and over by itself.
  if (failure && short_of_space()) {
    to_prepare_.push_back(asked);
    stage_again_ = parts_.loop.after(stage_again, [this] { prepare_waiting(); });
    return;
  }
  if (failure) {
    parts_.keeper->send(wire::to_keeper::NotPrepared{asked.attempt, std::move(*failure)});
  } else if (job->description->spec.secrets.empty()) {
    send_prepared(asked, std::vector<wire::Secret>());
  } else {
    find_secrets(asked, *job);
  }
}

/// Here, or with the peer that took the submit, or its second holder: one of them may be without a
/// link for a moment.
void Peer::find_secrets(const wire::from_keeper::Prepare& asked, const JobRecord& job) {
  Result<std::vector<wire::Secret>> here = parts_.secrets->find(job.request);
  const bool is_home = job.submitter.peer == parts_.identity.peer;
  if (here.ok() || (is_home && parts_.mesh->up().empty()))
    return send_prepared(asked, std::move(here));
  std::vector<PeerId> from = parts_.mesh->up();
  std::stable_partition(from.begin(), from.end(),
                        [&](PeerId peer) { return peer == job.submitter.peer; });
  parts_.holders->ask_secrets(
      job.request, std::move(from), [this, asked](Result<std::vector<wire::Secret>> found) {
        if (!found.ok() && ++secret_looks_[asked.attempt] < most_secret_looks) {
          to_prepare_.push_back(asked);
          stage_again_ = parts_.loop.after(stage_again, [this] { prepare_waiting(); });
          return;
        }
        secret_looks_.erase(asked.attempt);
        send_prepared(asked, std::move(found));
      });
}

void Peer::send_prepared(const wire::from_keeper::Prepare& asked,
                         Result<std::vector<wire::Secret>> secrets) {
  if (!secrets.ok())
    return parts_.keeper->send(wire::to_keeper::NotPrepared{
        asked.attempt, FailedToStart{0, 125, "its secrets are gone: " + secrets.error().message}});
  wire::to_keeper::Prepared prepared;
  prepared.attempt = asked.attempt;
  prepared.followed = parts_.watch->is_attached(asked.job);
  prepared.secrets = std::move(secrets).value();
  parts_.keeper->send(std::move(prepared));
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
  std::vector<std::pair<Fence, const JobDescription*>> due;
  parts_.attempts->for_each([&](const LocalAttempt& attempt) {
    if (!attempt.outcome || attempt.ran_on != PeerId{}) return;
    const JobRecord* job = state->find_job(attempt.job);
    if (job == nullptr) {
      // The leader may not have known of files that are kept here: they go when space is needed.
      if (is_forgotten(*state, attempt.job) && !parts_.results->has(attempt.job, attempt.fence))
        forgotten.push_back(attempt.fence);
    } else if (!attempt.collected && !collecting_.contains(attempt.fence)) {
      due.emplace_back(attempt.fence, job->description.get());
    }
  });
  for (const Fence& fence : forgotten) discard(fence);
  for (const auto& [fence, job] : due) collect(*parts_.attempts->find(fence), *job);
}

void Peer::collect(const LocalAttempt& attempt, const JobDescription& job) {
  const StagingMode mode = job.spec.staging;
  const Fence fence = attempt.fence;
  // Found before the keeper was connected anew.
  if (parts_.results->has(attempt.job, fence)) return parts_.attempts->collected(fence);
  if (mode != StagingMode::none && parts_.staging->made_nothing(fence))
    return parts_.attempts->collected(fence);
  collecting_.insert(fence);
  clearing_.insert(fence);
  parts_.staging->collect(
      attempt.job, attempt.task, fence, mode,
      [this, fence](Result<std::vector<wire::ResultFile>> files) {
        found(fence, std::move(files));
      },
      [this, fence] { cleared(fence); }, job.tree.empty());
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
  if (parts_.mirrors->has(fence)) return parts_.mirrors->discard(fence);
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
