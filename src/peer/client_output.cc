#include <algorithm>
#include <utility>

#include "gpl/core/overloaded.h"
#include "gpl/peer/client_session.h"

namespace gpl::peer {
namespace {

/// Of one client, beyond what the job has taken: the keeper holds it.
constexpr std::uint64_t most_input_bytes = std::uint64_t{1024} * 1024;

}  // namespace

void ClientSession::ask(Question question, wire::Follow& asked) {
  if (is_taken(question)) return;
  // While the log is closed the job goes on, and so does who follows it.
  const bool waits = parts_.consensus->state() == nullptr && has_every_right();
  if (!waits && job_for(question, asked.job, true) == nullptr) return;
  follow(question, std::move(asked));
}

void ClientSession::follow(Question question, wire::Follow follow) {
  Follower::Around around{*parts_.consensus,
                          *parts_.attempts,
                          *parts_.news,
                          *parts_.watch,
                          [this](const Fence& fence) { return parts_.attempt_folder(fence); },
                          parts_.identity.name};
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

void ClientSession::ask(Question question, wire::Taken& asked) {
  static_cast<void>(question);
  if (const auto follower = followers_.find(asked.question); follower != followers_.end())
    follower->second->taken(asked.bytes);
  if (const auto exec = execs_.find(asked.question); exec != execs_.end())
    parts_.calls->exec_taken(exec->second.number, asked.bytes);
}

void ClientSession::ask(Question question, wire::WaitFor& asked) {
  if (is_taken(question)) return;
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

const LocalAttempt* ClientSession::running_attempt(JobId job, TaskId task) const {
  const LocalAttempt* running = nullptr;
  for (const LocalAttempt* at = parts_.attempts->next_of(job, task, Fence{}); at != nullptr;
       at = parts_.attempts->next_of(job, task, at->fence))
    if (at->running) running = at;
  return running;
}

void ClientSession::ask(Question question, wire::SignalTask& asked) {
  if (job_for(question, asked.job, true) == nullptr) return;
  if (!keeper_answers(question)) return;
  const LocalAttempt* attempt = running_attempt(asked.job, asked.task);
  if (attempt == nullptr) return refuse(question, Error{Code::busy, "the job does not run"});
  parts_.keeper->send(wire::to_keeper::Signal{attempt->fence, asked.signal});
  answer(question, wire::Done{});
}

void ClientSession::ask(Question question, wire::SendInput& asked) {
  if (job_for(question, asked.job, true) == nullptr) return;
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
  if (job_for(question, asked.job, true) == nullptr || is_taken(question)) return;
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
  if (const auto exec = execs_.find(asked.question); exec != execs_.end())
    parts_.calls->signal_exec(exec->second.number, asked.signal);
}

}  // namespace gpl::peer
