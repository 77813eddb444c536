// The keeper's worker: what it knew at the beginning, and what it wants done.
#include <utility>

#include "gpl/posix/clock.h"
#include "keeper_state.h"

namespace gpl::host {
namespace {

constexpr Duration keep_again_after = seconds(1);

Clocks clocks_now() { return {Moment{posix::boot_clock().since_epoch_ms}, posix::wall_clock()}; }

// What this message is about, when it is about an outcome.
bool tells_of(const WorkerToLeader& message) {
  return !std::holds_alternative<to_leader::Renew>(message);
}

}  // namespace

RestoredWorker Keeper::restore() {
  RestoredWorker restored;
  restored.keeper = beginning_.instance;
  restored.first_session = beginning_.first_session;
  Result<std::vector<Fence>> fences = beginning_.folders.list();
  if (!fences.ok()) return restored;
  for (const Fence& fence : fences.value()) restore(restored, fence);
  return restored;
}

void Keeper::restore(RestoredWorker& restored, const Fence& fence) {
  Result<AttemptFolder> folder = beginning_.folders.open_existing(fence);
  if (!folder.ok()) return;
  const Result<to_worker::Start> order = folder.value().read_order();
  const JobId job = order.ok() ? order.value().job : JobId{};
  const TaskId task = order.ok() ? order.value().task : TaskId{};
  const Result<std::optional<EndedAttempt>> exit = folder.value().read_exit();
  if (exit.ok() && exit.value()) {
    kept_[fence] = {job,
                    task,
                    exit.value()->outcome,
                    folder.value().output_bytes("stdout"),
                    folder.value().output_bytes("stderr"),
                    exit.value()->started_at};
    if (!folder.value().acknowledged()) restored.ended.push_back(*exit.value());
    removal_.remove_temp_folder(folder.value().read_trace().temp_folder);
    return;
  }
  // Without an order nothing of it can have run, and the leader orders it again.
  if (!order.ok() && order.error().code == Code::not_found) {
    discard(fence);
    return;
  }
  RestoredWorker::Running running{fence, OnLoss::wait, {}, {}};
  if (order.ok()) running.on_loss = order.value().description.on_loss;
  if (order.ok()) running.lease = order.value().description.lease;
  running.started_at = folder.value().read_trace().started_at;
  restored.running.push_back(std::move(running));
  inherited_.emplace(fence, Inherited{std::move(folder).value(), job, task});
}

void Keeper::feed(const std::function<void(Worker&, const Clocks&)>& event) {
  event(*worker_, clocks_now());
  while (true) {
    WorkerOutput output = worker_->take_output();
    if (output.empty()) return;
    perform(std::move(output));
  }
}

void Keeper::feed_end(const Fence& fence, Outcome outcome) {
  feed([&](Worker& worker, const Clocks& clocks) {
    worker.ended(clocks, fence, std::move(outcome));
  });
}

void Keeper::perform(WorkerOutput output) {
  for (const EndedAttempt& ended : output.keep) keep(ended);
  for (to_worker::Start& order : output.start) start(std::move(order));
  for (const EndProcesses& order : output.end) end(order);
  for (const Fence& fence : output.forget) forget(fence);
  // What is not on disk is not told: once it is, a new session tells all.
  for (WorkerToLeader& message : output.send) {
    if (unkept_.empty() || !tells_of(message)) {
      tell(wire::from_keeper::ToLeader{std::move(message)});
    }
  }
  for (const EndedAttempt& ended : output.keep) {
    if (!unkept_.contains(ended.fence)) tell_ended(ended.fence);
  }
}

Result<std::unique_ptr<AttemptRun>> Keeper::make_run(const to_worker::Start& order) {
  Result<AttemptFolder> folder = beginning_.folders.make(order.fence);
  if (!folder.ok()) return std::move(folder).error();
  if (Status written = folder.value().write_order(order); !written.ok()) return written.error();
  Result<KeptOutput> output =
      KeptOutput::make(folder.value().descriptor(), options_.output_cap_bytes);
  if (!output.ok()) return std::move(output).error();
  return std::make_unique<AttemptRun>(site_, order, std::move(folder).value(),
                                      std::move(output).value());
}

void Keeper::start(to_worker::Start order) {
  const Fence fence = order.fence;
  if (ending_) {
    failed_.emplace_back(fence, Lost{"its keeper was ended (SIGTERM) before it could start"});
    return;
  }
  Result<std::unique_ptr<AttemptRun>> run = make_run(order);
  if (!run.ok()) {
    tell(wire::from_keeper::KeeperNote{run.error().message});
    failed_.emplace_back(fence, FailedToStart{0, 125, run.error().message});
    return;
  }
  attempts_[fence] = std::move(run).value();
  tell(wire::from_keeper::Prepare{fence, order.job, order.task, order.description.tree});
}

void Keeper::end(const EndProcesses& order) {
  // The guard of an earlier keeper's attempt is at it already.
  if (AttemptRun* run = find(order.fence)) run->end(order.grace);
}

/// Puts an outcome on disk; what never ran is told although it could not be.
void Keeper::keep(const EndedAttempt& ended) {
  const Status written = write_exit(ended);
  if (written.ok()) return settle(ended);
  tell(wire::from_keeper::KeeperNote{written.error().message});
  if (!ended.started_at) return settle(ended);
  unkept_.insert_or_assign(ended.fence, ended);
  keep_again_at_ = clocks_now().now + keep_again_after;
}

Status Keeper::write_exit(const EndedAttempt& ended) {
  if (const AttemptRun* run = find(ended.fence)) return run->folder().write_exit(ended);
  if (const auto found = inherited_.find(ended.fence); found != inherited_.end()) {
    return found->second.folder.write_exit(ended);
  }
  // It ended before its turn came, or had no folder.
  const Result<AttemptFolder> folder = beginning_.folders.make(ended.fence);
  if (!folder.ok()) return folder.error();
  return folder.value().write_exit(ended);
}

void Keeper::settle(const EndedAttempt& ended) {
  Kept kept{{}, {}, ended.outcome, 0, 0, ended.started_at};
  if (AttemptRun* run = find(ended.fence)) {
    kept.job = run->order().job;
    kept.task = run->order().task;
    kept.out_bytes = run->output().bytes(wire::OutputStream::out);
    kept.err_bytes = run->output().bytes(wire::OutputStream::err);
  }
  if (const auto found = inherited_.find(ended.fence); found != inherited_.end()) {
    const AttemptFolder& folder = found->second.folder;
    kept.job = found->second.job;
    kept.task = found->second.task;
    kept.out_bytes = folder.output_bytes("stdout");
    kept.err_bytes = folder.output_bytes("stderr");
    removal_.remove_temp_folder(folder.read_trace().temp_folder);
    inherited_.erase(found);
  }
  kept_.insert_or_assign(ended.fence, std::move(kept));
  attempts_.erase(ended.fence);
  input_told_.erase(ended.fence);
}

void Keeper::keep_again() {
  const Moment now = clocks_now().now;
  if (!keep_again_at_ || now < *keep_again_at_) return;
  keep_again_at_.reset();
  const std::map<Fence, EndedAttempt> again = std::exchange(unkept_, {});
  for (const auto& [fence, ended] : again) {
    if (!write_exit(ended).ok()) {
      unkept_.emplace(fence, ended);
      continue;
    }
    settle(ended);
    tell_ended(fence);
  }
  if (!unkept_.empty()) {
    keep_again_at_ = now + keep_again_after;
    return;
  }
  feed([](Worker& worker, const Clocks& clocks) { worker.session_lost(clocks); });
}

void Keeper::forget(const Fence& fence) {
  const Result<AttemptFolder> folder = beginning_.folders.open_existing(fence);
  if (folder.ok()) folder.value().write_acknowledged();
}

void Keeper::discard(const Fence& fence) {
  Result<std::string> moved = beginning_.folders.discard(fence);
  if (!moved.ok()) {
    tell(wire::from_keeper::KeeperNote{moved.error().message});
  } else if (!moved.value().empty()) {
    removal_.remove_tree(beginning_.folders.descriptor(), std::move(moved).value());
  }
}

void Keeper::tell_ended(const Fence& fence) {
  const Kept& kept = kept_.at(fence);
  tell(wire::from_keeper::Ended{fence, kept.job, kept.task, kept.outcome, kept.started_at});
  if (watched_.contains(fence)) {
    tell(wire::from_keeper::Grew{fence, kept.out_bytes, kept.err_bytes, true});
  }
}

void Keeper::give_up_all() {
  ending_ = true;
  for (auto& [fence, run] : attempts_) run->give_up(Lost{"its keeper was ended (SIGTERM)"});
}

}  // namespace gpl::host
