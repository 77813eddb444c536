#include <algorithm>
#include <utility>

#include "gpl/core/overloaded.h"
#include "gpl/peer/client_session.h"
#include "gpl/peer/known_jobs.h"

namespace gpl::peer {
namespace {

/// Of one client, beyond what the job has taken: the keeper holds it.
constexpr std::uint64_t most_input_bytes = std::uint64_t{1024} * 1024;
constexpr Duration route_again_after = milliseconds(200);
constexpr int most_rounds = 25;
constexpr std::size_t most_waited_for = 100'000;

}  // namespace

void ClientSession::ask(Question question, wire::Follow& asked) {
  if (is_taken(question)) return;
  // While the log is closed the job goes on, and so does who follows it.
  const bool waits = parts_.consensus->state() == nullptr && has_every_right();
  if (!waits && !is_to_come(asked.job) && !may_change(question, asked.job)) return;
  route(question, std::move(asked));
}

/// This peer's state may be behind what the client has been told by another one, or before.
bool ClientSession::is_to_come(JobId job) const {
  const ClusterState* state = parts_.consensus->state();
  return !caller_.is_peer && state != nullptr && !parts_.consensus->leads() &&
         state->find_job(job) == nullptr && !is_forgotten(*state, job);
}

/// To the peer that has its output: that which took the submit has all of it, be it as a copy, but
/// for what ran while it was away. When it is away, to where the job runs, or who has kept some.
void ClientSession::route(Question question, wire::Follow asked) {
  const ClusterState* state = parts_.consensus->state();
  const JobRecord* job = state != nullptr ? state->find_job(asked.job) : nullptr;
  if (is_to_come(asked.job)) return route_again(question, std::move(asked));
  if (caller_.is_peer || job == nullptr) return follow(question, std::move(asked));
  if (routes_.contains(question) && !may_change(question, asked.job)) {
    routes_.erase(question);
    return;
  }
  const PeerId home = job->submitter.peer;
  const bool is_home = home == parts_.identity.peer;
  const bool is_here = !parts_.attempts->of(asked.job).empty();
  if (job->has_ended() && !(is_home && is_here)) return route_ended(question, std::move(asked));
  if (is_home) return follow(question, std::move(asked));
  if (parts_.mesh->is_up(home)) return relay(question, home, std::move(asked));
  if (is_here) return follow(question, std::move(asked));
  if (const auto worker = worker_of(asked.job, asked.task); worker && parts_.mesh->is_up(*worker))
    return relay(question, *worker, std::move(asked));
  if (asked.live) return route_again(question, std::move(asked));
  route_ended(question, std::move(asked));
}

/// Whoever has output of it, the peer that took the submit first.
void ClientSession::route_ended(Question question, wire::Follow asked) {
  if (parts_.mesh->up().empty()) return follow(question, std::move(asked));
  const JobId job = asked.job;
  const PeerId home = parts_.consensus->state()->find_job(job)->submitter.peer;
  parts_.holders->find(
      wire::Holding::output, holding_key(job), home,
      guarded([this, question, home, asked = std::move(asked)](const std::vector<PeerId>& holders) {
        const bool is_here = !parts_.attempts->of(asked.job).empty();
        if (!holders.empty() && !(is_here && holders.front() != home))
          return relay(question, holders.front(), asked);
        if (is_here || !is_away_with_output(asked.job)) return follow(question, asked);
        route_again(question, asked);
      }));
}

/// A command that was begun has output, even if none, and it is with a peer that may come back.
bool ClientSession::is_away_with_output(JobId id) const {
  const ClusterState* state = parts_.consensus->state();
  const JobRecord* job = state != nullptr ? state->find_job(id) : nullptr;
  if (job == nullptr) return false;
  const PeerId home = job->submitter.peer;
  const auto has_run = [](const EndedTasks& tasks) {
    const auto* cancelled = std::get_if<Cancelled>(&tasks.outcome);
    return !std::holds_alternative<FailedToStart>(tasks.outcome) &&
           (cancelled == nullptr || cancelled->signal != 0);
  };
  const std::vector<EndedTasks> ended = state->ended(id);
  return home != parts_.identity.peer && state->find_peer(home) != nullptr &&
         !parts_.mesh->is_up(home) && std::any_of(ended.begin(), ended.end(), has_run);
}

void ClientSession::relay(Question question, PeerId peer, wire::Follow asked) {
  routes_.erase(question);
  relays_.follow(question, peer, std::move(asked), guarded([this, question](wire::Follow rest) {
                   route_again(question, std::move(rest));
                 }));
}

void ClientSession::route_again(Question question, wire::Follow rest) {
  Route& route_to = routes_[question];
  const ClusterState* state = parts_.consensus->state();
  const JobRecord* job = state != nullptr ? state->find_job(rest.job) : nullptr;
  const bool has_leader = parts_.consensus->facts().leader != PeerId{};
  const bool may_come = job != nullptr && !job->has_ended() && rest.live;
  if (++route_to.rounds > most_rounds && has_leader && !may_come) {
    routes_.erase(question);
    const std::string name = "job " + std::to_string(rest.job.value);
    return refuse(question, job == nullptr
                                ? Error{Code::not_found, "there is no " + name}
                                : Error{Code::not_found, "the output of " + name + " is with " +
                                                             name_of(job->submitter.peer) +
                                                             ", which cannot be reached now"});
  }
  route_to.again = parts_.loop.after(
      route_again_after,
      guarded([this, question, rest = std::move(rest)] { route(question, rest); }));
}

void ClientSession::follow(Question question, wire::Follow follow) {
  routes_.erase(question);
  Follower::Around around{*parts_.consensus,
                          *parts_.attempts,
                          *parts_.news,
                          *parts_.watch,
                          [this](const Fence& fence) { return parts_.attempt_folder(fence); },
                          [this](PeerId peer) { return name_of(peer); }};
  const JobId job = follow.job;
  const bool attached = follow.attached && follow.live;
  auto follower = std::make_unique<Follower>(
      parts_.loop, std::move(around), std::move(follow),
      Follower::Told{[this, question](wire::Answer told) { answer(question, std::move(told)); },
                     guarded([this, question, job, attached] {
                       followers_.erase(question);
                       if (attached) parts_.peer.delivered(job);
                     })});
  Follower& begun = *follower;
  followers_[question] = std::move(follower);
  begun.start();
}

void ClientSession::ask(Question question, wire::FollowAttempt& asked) {
  if (is_taken(question)) return;
  AttemptFollower::Around around{
      *parts_.attempts, *parts_.news, *parts_.watch,
      [this](const Fence& fence) { return parts_.attempt_folder(fence); },
      [this](JobId job) { return has_ended(parts_.consensus->state(), job); }};
  auto follower = std::make_unique<AttemptFollower>(
      parts_.loop, std::move(around), asked,
      AttemptFollower::Told{
          [this, question](wire::Answer told) { answer(question, std::move(told)); },
          guarded([this, question] {
            const auto entry = attempt_followers_.find(question);
            if (entry == attempt_followers_.end()) return;  // nobody wants it any more
            const Fence attempt = entry->second->attempt();
            const bool told_all = entry->second->told_all();
            attempt_followers_.erase(entry);
            if (told_all) parts_.peer.copied(attempt);
          })});
  AttemptFollower& begun = *follower;
  attempt_followers_[question] = std::move(follower);
  begun.start();
}

void ClientSession::ask(Question question, wire::Taken& asked) {
  static_cast<void>(question);
  if (relays_.say(asked.question, asked)) return;
  if (const auto follower = followers_.find(asked.question); follower != followers_.end())
    follower->second->taken(asked.bytes);
  if (const auto follower = attempt_followers_.find(asked.question);
      follower != attempt_followers_.end())
    follower->second->taken(asked.bytes);
  if (const auto exec = execs_.find(asked.question); exec != execs_.end())
    parts_.calls->exec_taken(exec->second.number, asked.bytes);
}

void ClientSession::ask(Question question, wire::WaitFor& asked) {
  if (is_taken(question)) return;
  if (asked.jobs.size() > most_waited_for)
    return refuse(question, Error{Code::too_large, "at most " + std::to_string(most_waited_for) +
                                                       " jobs can be waited for at once"});
  Waiting waiting;
  waiting.jobs = {asked.jobs.begin(), asked.jobs.end()};
  for (const JobId job : waiting.jobs)
    waiting.news.push_back(parts_.news->subscribe(job, [this, question] { tell_ended(question); }));
  waiting_[question] = std::move(waiting);
  parts_.loop.at_end_of_turn(guarded([this, question] { tell_ended(question); }));
}

/// A job that is not known any more has ended.
void ClientSession::tell_ended(Question question) {
  const auto entry = waiting_.find(question);
  const ClusterState* state = parts_.consensus->state();
  if (entry == waiting_.end() || state == nullptr) return;
  std::erase_if(entry->second.jobs, [&](JobId id) {
    const JobRecord* job = state->find_job(id);
    if (job == nullptr && !is_forgotten(*state, id)) return false;
    if (job == nullptr) {
      answer(question, wire::JobEnded{id, std::nullopt, Lost{"the job is not known any more"}});
      return true;
    }
    if (!job->has_ended()) return false;
    wire::JobEnded ended{id, std::nullopt, Exited{0}};
    for (const EndedTasks& tasks : state->ended(id)) {
      ended.outcome = tasks.outcome;
      if (tasks.outcome == Outcome{Exited{0}}) continue;
      ended.failed_task = tasks.tasks.first;
      break;
    }
    answer(question, std::move(ended));
    return true;
  });
  if (!entry->second.jobs.empty()) return;
  waiting_.erase(entry);
  answer(question, wire::Done{});
}

std::optional<PeerId> ClientSession::worker_of(JobId job, std::optional<TaskId> task) const {
  const ClusterState* state = parts_.consensus->state();
  if (caller_.is_peer || state == nullptr) return std::nullopt;
  for (const AttemptId id : state->attempts_of(job)) {
    const Attempt& attempt = *state->find_attempt(id);
    if (attempt.task != task.value_or(TaskId{})) continue;
    if (attempt.peer != parts_.identity.peer) return attempt.peer;
  }
  return std::nullopt;
}

const LocalAttempt* ClientSession::running_attempt(JobId job, TaskId task) const {
  const LocalAttempt* running = nullptr;
  for (const LocalAttempt* at = parts_.attempts->next_of(job, task, Fence{}); at != nullptr;
       at = parts_.attempts->next_of(job, task, at->fence))
    if (at->running && at->ran_on == PeerId{}) running = at;
  return running;
}

void ClientSession::ask(Question question, wire::SignalTask& asked) {
  if (!may_change(question, asked.job) || is_taken(question)) return;
  if (const auto worker = worker_of(asked.job, asked.task))
    return relays_.ask(question, *worker, name_of(*worker), asked);
  if (!keeper_answers(question)) return;
  const LocalAttempt* attempt = running_attempt(asked.job, asked.task);
  if (attempt == nullptr) return refuse(question, Error{Code::busy, "the job does not run"});
  parts_.keeper->send(wire::to_keeper::Signal{attempt->fence, asked.signal});
  answer(question, wire::Done{});
}

void ClientSession::ask(Question question, wire::SendInput& asked) {
  if (!may_change(question, asked.job)) return;
  if (relays_.say(question, asked)) return;
  if (const auto worker = worker_of(asked.job, std::nullopt))
    return relays_.ask(question, *worker, name_of(*worker), std::move(asked));
  if (!keeper_answers(question)) return;
  const LocalAttempt* attempt = running_attempt(asked.job, TaskId{});
  if (attempt == nullptr) return refuse(question, Error{Code::busy, "the job does not run"});
  const Fence fence = attempt->fence;
  // Of a client that has come back: what it offers first has been taken up to there.
  const std::uint64_t taken = inputs_.try_emplace(fence, asked.offset).first->second;
  if (asked.offset + asked.data.size() > taken + most_input_bytes)
    return refuse(question, Error{Code::busy, "too much input is on its way"});
  parts_.calls->input({fence, asked.offset, std::move(asked.data), asked.end},
                      guarded([this, question, fence](std::uint64_t offset) {
                        inputs_[fence] = std::max(inputs_[fence], offset);
                        answer(question, wire::InputTaken{offset});
                      }));
}

void ClientSession::ask(Question question, wire::ExecInTask& asked) {
  if (!may_change(question, asked.job) || is_taken(question)) return;
  if (const auto worker = worker_of(asked.job, asked.task))
    return relays_.ask(question, *worker, name_of(*worker), std::move(asked));
  if (!keeper_answers(question)) return;
  const LocalAttempt* attempt = running_attempt(asked.job, asked.task.value_or(TaskId{}));
  if (attempt == nullptr)
    return refuse(question, Error{Code::busy, "job " + std::to_string(asked.job.value) +
                                                  " does not run: there is nothing to enter"});
  if (asked.command.empty()) return refuse(question, Error{Code::invalid, "no command"});
  KeeperCalls::ExecTold told;
  told.grew = guarded([this, question](const wire::from_keeper::ExecGrew& grew) {
    const auto entry = execs_.find(question);
    if (entry == execs_.end()) return;
    Exec& exec = entry->second;
    std::uint64_t& offset =
        grew.stream == wire::OutputStream::out ? exec.out_bytes : exec.err_bytes;
    answer(question, wire::Output{{TaskId{}, AttemptId{}, grew.stream, offset}, grew.data, 0});
    offset += grew.data.size();
  });
  told.ended = guarded([this, question](const Outcome& outcome) {
    execs_.erase(question);
    answer(question, wire::ExecEnded{outcome});
  });
  execs_[question].number =
      parts_.calls->exec(attempt->fence, std::move(asked.command), std::move(told));
}

void ClientSession::ask(Question question, wire::SignalExec& asked) {
  static_cast<void>(question);
  if (relays_.say(asked.question, asked)) return;
  if (asked.signal == 0) {
    followers_.erase(asked.question);
    attempt_followers_.erase(asked.question);
    routes_.erase(asked.question);
    waiting_.erase(asked.question);
  }
  if (const auto exec = execs_.find(asked.question); exec != execs_.end())
    parts_.calls->signal_exec(exec->second.number, asked.signal);
}

}  // namespace gpl::peer
