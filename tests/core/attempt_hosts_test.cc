// The hosts of attempt_cluster.h: what workers ask for is done, and processes run and end.
#include <doctest/doctest.h>

#include "attempt_cluster.h"

namespace gpl::attempt_cluster {

void AttemptCluster::drive_host(std::size_t index) {
  Host& host = hosts_[index];
  if (!host.worker && host.returns <= now_) start_keeper(host);
  // Processes live and die whether their keeper looks or not.
  if (host.worker && host.stopped_until <= now_) {
    if (host.will_learn_of && host.will_learn_of->first <= now_) {
      host.leader = host.will_learn_of->second;
      host.will_learn_of.reset();
      host.worker->session_lost(clocks(host.clock));
    }
    // Of what waits for a keeper that wakes, anything may be looked at first.
    const bool timers_first = prng_.one_in(2);
    if (timers_first && host.worker->wake_at() <= host.clock.read(now_))
      host.worker->tick(clocks(host.clock));
    if (prng_.one_in(2)) move_processes(host);
    for (const LeaderToWorker& message : std::exchange(host.mailbox, {})) {
      LeaderToWorker heard = message;
      if (auto* granted = std::get_if<to_worker::Granted>(&heard);
          granted && options_.bug == PlantedBug::lease_from_answer)
        granted->asked_at = host.clock.read(now_);
      host.worker->receive(clocks(host.clock), heard);
      perform(index);
    }
    move_processes(host);
    if (host.worker->wake_at() <= host.clock.read(now_)) host.worker->tick(clocks(host.clock));
    perform(index);
  } else if (!host.worker) {
    move_processes(host);
  }
}

void AttemptCluster::perform(std::size_t index) {
  Host& host = hosts_[index];
  WorkerOutput out = host.worker->take_output();
  for (const EndedAttempt& ended : out.keep) host.disk.insert_or_assign(ended.fence, ended);
  for (const to_worker::Start& order : out.start) {
    Process process;
    process.fence = order.fence;
    process.job = order.job;
    process.task = order.task;
    process.on_loss = order.description.on_loss;
    process.lease = order.description.lease;
    process.begins = now_ + static_cast<TrueTime>(prng_.below(500'000));
    process.ends = process.begins + static_cast<TrueTime>(prng_.between(
                                        1, prng_.one_in(2) ? 200'000'000 : 20'000'000));
    task_of_[order.fence] = {order.job, order.task};
    if (host.processes.contains(order.fence)) fail("an attempt was started twice");
    host.processes.emplace(order.fence, process);
  }
  for (const EndProcesses& end : out.end) {
    const auto found = host.processes.find(end.fence);
    if (found == host.processes.end()) continue;
    // It obeys SIGTERM at some time, or is killed, or the kernel takes its time to kill it.
    const auto grace_us = static_cast<std::uint64_t>(end.grace.count_ms) * 1000;
    const std::uint64_t lasts_us[] = {prng_.below(grace_us + 1), grace_us + prng_.below(4'800'000),
                                      grace_us + 4'800'000};
    const TrueTime dies = now_ + static_cast<TrueTime>(lasts_us[prng_.below(3)]);
    found->second.killed = std::min(found->second.killed.value_or(dies), dies);
  }
  for (const Fence& fence : out.forget) host.disk.erase(fence);
  for (WorkerToLeader& message : out.send) send({host.leader, index, std::move(message)});
}

void AttemptCluster::move_processes(Host& host) {
  const bool looks = host.worker && host.stopped_until <= now_;
  for (auto at = host.processes.begin(); at != host.processes.end();) {
    Process& process = at->second;
    if (!process.begun && process.begins <= now_ && looks &&
        process.killed.value_or(now_ + 1) > now_)
      begin(host, process);
    const bool is_over = process.begun || process.killed ? process.gone() <= now_ : false;
    if (!is_over || !host.worker) {
      ++at;
      continue;
    }
    Outcome outcome = Exited{0};
    if (process.killed && *process.killed <= process.ends) outcome = Signalled{9, false};
    if (!process.begun) outcome = FailedToStart{0, 125, "ended before it began"};
    if (process.of_dead_keeper) outcome = Lost{"its keeper died"};
    const Fence fence = process.fence;
    at = host.processes.erase(at);
    host.worker->ended(clocks(host.clock), fence, std::move(outcome));
  }
}

void AttemptCluster::begin(Host& host, Process& process) {
  process.begun = true;
  process.ends += now_ - process.begins;
  process.started_at = clocks(host.clock).at;
  ++figures_.starts;
  if (!ever_begun_.insert(process.fence).second) fail("an attempt began twice");
  const std::pair<JobId, TaskId> task{process.job, process.task};
  if (++begun_[task] > 1 && process.on_loss != OnLoss::retry)
    fail("a task that is not to be tried again began again");
  for (const Host& other : hosts_) {
    for (const auto& [fence, running] : other.processes) {
      if (fence == process.fence || !running.begun || running.gone() <= now_) continue;
      if (running.job != process.job || running.task != process.task) continue;
      // The one exception: a keeper that is stopped, or woke a moment ago, past the end of a lease.
      const bool excused =
          other.last_stop >= now_ - 16 * one_second || host.last_stop >= now_ - one_second;
      if (!excused)
        fail("job " + std::to_string(process.job.value) + " task " +
             std::to_string(process.task.value) + " runs twice at once, on peers " +
             std::to_string(other.id.value) + " and " + std::to_string(host.id.value));
      overlaps_.insert(task);
      ++figures_.overlaps;
    }
  }
  host.worker->started(clocks(host.clock), process.fence);
}

/// kill -9 of the keeper: the guards end its attempts. Or the whole machine is gone.
void AttemptCluster::stop_keeper(Host& host, bool machine_too) {
  host.worker.reset();
  host.mailbox.clear();
  host.stopped_until = 0;
  host.returns = now_ + static_cast<TrueTime>(machine_too ? prng_.between(5, 100) * one_second
                                                          : prng_.below(2 * one_second));
  if (machine_too) {
    // Nobody is left to tell that they ran on.
    for (const auto& [fence, process] : host.processes) overlaps_.erase(task_of_[fence]);
    host.processes.clear();
    ++host.boots;
    host.clock.offset_us = static_cast<TrueTime>(prng_.below(1'000'000'000));
    return;
  }
  std::erase_if(host.processes, [](const auto& entry) { return !entry.second.begun; });
  for (auto& [fence, process] : host.processes) {
    const auto dies = now_ + static_cast<TrueTime>(prng_.below(4 * one_second));
    process.killed = std::min(process.killed.value_or(dies), dies);
    process.of_dead_keeper = true;
  }
}

void AttemptCluster::start_keeper(Host& host) {
  RestoredWorker restored;
  restored.keeper = "boot" + std::to_string(host.boots) + " ns " + std::to_string(++keepers_);
  restored.first_session = SessionId{prng_.next() >> 1};
  restored.offer.name = "peer " + std::to_string(host.id.value);
  restored.offer.host.cpus = 3;
  for (const auto& [fence, process] : host.processes)
    restored.running.push_back({fence, process.on_loss, process.lease, process.started_at});
  for (const auto& [fence, ended] : host.disk) restored.ended.push_back(ended);
  host.worker =
      std::make_unique<Worker>(WorkerOptions{}, std::move(restored), host.clock.read(now_));
}

}  // namespace gpl::attempt_cluster
