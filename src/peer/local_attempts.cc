#include "gpl/peer/local_attempts.h"

#include <algorithm>

namespace gpl::peer {

LocalAttempt& LocalAttempts::known(const Fence& fence, JobId job, TaskId task) {
  const auto [entry, added] = attempts_.try_emplace(fence);
  if (added) {
    entry->second.fence = fence;
    entry->second.job = job;
    entry->second.task = task;
    by_job_.emplace(std::pair(job, fence), task);
  }
  entry->second.told = true;
  return entry->second;
}

void LocalAttempts::take(const wire::from_keeper::Prepare& prepare) {
  known(prepare.attempt, prepare.job, prepare.task);
  changed_(prepare.job);
}

void LocalAttempts::take(const wire::from_keeper::Running& running) {
  known(running.attempt, running.job, running.task).running = running.pid != 0;
  changed_(running.job);
}

void LocalAttempts::take(const wire::from_keeper::Grew& grew) {
  const auto entry = attempts_.find(grew.attempt);
  if (entry == attempts_.end()) return;
  LocalAttempt& attempt = entry->second;
  attempt.out_bytes = std::max(attempt.out_bytes, grew.out_bytes);
  attempt.err_bytes = std::max(attempt.err_bytes, grew.err_bytes);
  attempt.output_complete = attempt.output_complete || grew.ended;
  ++attempt.tellings;
  changed_(attempt.job);
}

void LocalAttempts::take(const wire::from_keeper::Ended& ended) {
  LocalAttempt& attempt = known(ended.attempt, ended.job, ended.task);
  attempt.running = false;
  attempt.outcome = ended.outcome;
  attempt.started_at = ended.started_at;
  changed_(ended.job);
}

/// What is not told any more is gone: another keeper has not found its folder.
void LocalAttempts::take(const wire::from_keeper::Listed& listed) {
  static_cast<void>(listed);
  complete_ = true;
  std::vector<Fence> gone;
  for (const auto& [fence, attempt] : attempts_)
    if (!attempt.told && attempt.ran_on == PeerId{}) gone.push_back(fence);
  for (const Fence& fence : gone) discarded(fence);
}

void LocalAttempts::keeper_lost() {
  complete_ = false;
  for (auto& [fence, attempt] : attempts_) attempt.told = false;
}

/// What it made is elsewhere: there is nothing to collect.
void LocalAttempts::take_mirror(const Fence& fence, JobId job, TaskId task, PeerId ran_on) {
  LocalAttempt& attempt = known(fence, job, task);
  attempt.ran_on = ran_on;
  attempt.collected = true;
  changed_(job);
}

void LocalAttempts::not_collected(const Fence& fence, const Error& why) {
  const auto entry = attempts_.find(fence);
  if (entry == attempts_.end()) return;
  entry->second.not_collected = why;
  changed_(entry->second.job);
}

void LocalAttempts::collected(const Fence& fence) {
  const auto entry = attempts_.find(fence);
  if (entry == attempts_.end() || entry->second.collected) return;
  entry->second.collected = true;
  entry->second.not_collected.reset();
  changed_(entry->second.job);
}

void LocalAttempts::discarded(const Fence& fence) {
  const auto entry = attempts_.find(fence);
  if (entry == attempts_.end()) return;
  const JobId job = entry->second.job;
  by_job_.erase({job, fence});
  attempts_.erase(entry);
  changed_(job);
}

const LocalAttempt* LocalAttempts::find(const Fence& fence) const {
  const auto entry = attempts_.find(fence);
  return entry == attempts_.end() ? nullptr : &entry->second;
}

const LocalAttempt* LocalAttempts::next_of(JobId job, TaskId task, const Fence& after) const {
  for (auto at = by_job_.upper_bound({job, after}); at != by_job_.end() && at->first.first == job;
       ++at)
    if (at->second == task) return find(at->first.second);
  return nullptr;
}

std::vector<Fence> LocalAttempts::of(JobId job) const {
  std::vector<Fence> fences;
  for (auto at = by_job_.lower_bound({job, Fence{}}); at != by_job_.end() && at->first.first == job;
       ++at)
    fences.push_back(at->first.second);
  return fences;
}

}  // namespace gpl::peer
