// The keeper's worker: what it knew at the beginning, and what it wants done.
#include <utility>

#include "gpl/host/temp_folder.h"
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
  KeeperJournal::Content known = beginning_.journal.take_content();
  for (const auto& [fence, exit] : known.exits) restore_ended(restored, exit);
  const Result<std::vector<Fence>> fences = beginning_.folders.list();
  if (!fences.ok()) return restored;
  for (const Fence& fence : fences.value()) {
    if (known.discarded.contains(fence)) {
      discard(fence);
    } else if (!kept_.contains(fence)) {
      restore(restored, fence);
    }
  }
  return restored;
}

/// A power failure may have taken its folder, or the word that it was discarded.
void Keeper::restore_ended(RestoredWorker& restored, const KeeperJournal::Exit& exit) {
  const Fence& fence = exit.ended.fence;
  Result<AttemptFolder> folder = beginning_.folders.open_existing(fence);
  if (!folder.ok() && exit.acknowledged) return beginning_.journal.discarded(fence);
  if (!folder.ok()) folder = beginning_.folders.make(fence);
  Kept& kept = kept_[fence];
  kept = {exit.job, exit.task, exit.ended.outcome, 0, 0, exit.ended.started_at};
  if (!exit.acknowledged) restored.ended.push_back(exit.ended);
  if (!folder.ok()) return;
  kept.out_bytes = folder.value().output_bytes("stdout");
  kept.err_bytes = folder.value().output_bytes("stderr");
  removal_.remove_temp_folder(folder.value().read_trace().temp_folder);
}

void Keeper::restore(RestoredWorker& restored, const Fence& fence) {
  Result<AttemptFolder> folder = beginning_.folders.open_existing(fence);
  if (!folder.ok()) return;
  const Result<to_worker::Start> order = folder.value().read_order();
  // Before its order was whole nothing of it can have run, and the leader orders it again. After a
  // power failure the order may be what is missing.
  if (!order.ok() && (order.error().code == Code::not_found || !beginning_.restarted)) {
    discard(fence);
    return;
  }
  RestoredWorker::Running running{fence, OnLoss::wait, {}, {}};
  if (order.ok()) running.on_loss = order.value().description.on_loss;
  if (order.ok()) running.lease = order.value().description.lease;
  running.started_at = folder.value().read_trace().started_at;
  restored.running.push_back(std::move(running));
  const JobId job = order.ok() ? order.value().job : JobId{};
  const TaskId task = order.ok() ? order.value().task : TaskId{};
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

void Keeper::feed_starts(Moment now) {
  for (auto begun = begun_.begin(); begun != begun_.end();) {
    if (begun->second.tell_at > now) {
      ++begun;
      continue;
    }
    const Fence fence = begun->first;
    const auto when = begun->second.at;
    begun = begun_.erase(begun);
    feed([&](Worker& worker, const Clocks& clocks) { worker.started({clocks.now, when}, fence); });
  }
}

/// As one event, so that one sync keeps them all.
void Keeper::feed_ends(std::vector<std::pair<Fence, Outcome>> ended) {
  if (ended.empty()) return;
  feed([&](Worker& worker, const Clocks& clocks) {
    for (auto& [fence, outcome] : ended) worker.ended(clocks, fence, std::move(outcome));
  });
}

void Keeper::perform(WorkerOutput output) {
  keep(output.keep);
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
  if (Status room = beginning_.journal.reserve(attempts_.size() + 1); !room.ok())
    return std::move(room).error();
  Result<AttemptFolder> folder = beginning_.folders.make(order.fence);
  if (!folder.ok()) return std::move(folder).error();
  // Written down before it is made, so that it is found when this process is killed.
  std::string temp_folder = TempFolder::plan();
  Status written = folder.value().write_order(order, {temp_folder, std::nullopt, 0});
  if (!written.ok()) return std::move(written).error();
  Result<KeptOutput> output =
      KeptOutput::make(folder.value().descriptor(), options_.output_cap_bytes);
  if (!output.ok()) return std::move(output).error();
  return std::make_unique<AttemptRun>(site_, order, std::move(folder).value(),
                                      std::move(output).value(), std::move(temp_folder));
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
  AttemptRun& begun = *(attempts_[fence] = std::move(run).value());
  if (const auto ahead = prepared_ahead_.extract(fence)) {
    return begun.prepare(ahead.mapped().secrets, ahead.mapped().followed);
  }
  tell(wire::from_keeper::Prepare{fence, order.job, order.task, order.description.tree});
}

void Keeper::end(const EndProcesses& order) {
  // The guard of an earlier keeper's attempt is at it already.
  if (AttemptRun* run = find(order.fence)) run->end(order.grace);
}

/// Puts outcomes on disk; what never ran is told although it could not be.
void Keeper::keep(const std::vector<EndedAttempt>& all) {
  if (all.empty()) return;
  const Status written = write_exits(all);
  if (!written.ok()) tell(wire::from_keeper::KeeperNote{written.error().message});
  for (const EndedAttempt& ended : all) {
    if (written.ok() || !ended.started_at) {
      settle(ended);
    } else {
      unkept_.insert_or_assign(ended.fence, ended);
      keep_again_at_ = clocks_now().now + keep_again_after;
    }
  }
}

Status Keeper::write_exits(const std::vector<EndedAttempt>& all) {
  std::vector<KeeperJournal::Exit> exits;
  bool named = false;
  for (const EndedAttempt& ended : all) {
    KeeperJournal::Exit& exit = exits.emplace_back();
    exit.ended = ended;
    const AttemptFolder* folder = nullptr;
    if (AttemptRun* run = find(ended.fence)) {
      exit.job = run->order().job;
      exit.task = run->order().task;
      const bool wrote = run->output().bytes(wire::OutputStream::out) > 0 ||
                         run->output().bytes(wire::OutputStream::err) > 0;
      if (wrote) folder = &run->folder();
    } else if (const auto found = inherited_.find(ended.fence); found != inherited_.end()) {
      exit.job = found->second.job;
      exit.task = found->second.task;
      folder = &found->second.folder;
    } else {
      // It ended before its turn came, or had no folder.
      (void)beginning_.folders.make(ended.fence);
    }
    // What it wrote is synced: its names have to last too.
    if (folder == nullptr) continue;
    if (Status synced = folder->sync_names(); !synced.ok()) return synced;
    named = true;
  }
  if (named)
    if (Status synced = beginning_.folders.sync_names(); !synced.ok()) return synced;
  return beginning_.journal.keep(exits);
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
  std::vector<EndedAttempt> again;
  for (const auto& [fence, ended] : unkept_) again.push_back(ended);
  if (!write_exits(again).ok()) {
    keep_again_at_ = now + keep_again_after;
    return;
  }
  unkept_.clear();
  for (const EndedAttempt& ended : again) {
    settle(ended);
    tell_ended(ended.fence);
  }
  feed([](Worker& worker, const Clocks& clocks) { worker.session_lost(clocks); });
}

void Keeper::forget(const Fence& fence) { beginning_.journal.acknowledged(fence); }

void Keeper::discard(const Fence& fence) {
  beginning_.journal.discarded(fence);
  Result<std::string> moved = beginning_.folders.discard(fence);
  if (!moved.ok()) {
    tell(wire::from_keeper::KeeperNote{moved.error().message});
  } else if (!moved.value().empty() && !beginning_.folders.use_again(moved.value())) {
    removal_.remove_tree(beginning_.folders.descriptor(), std::move(moved).value());
  }
}

void Keeper::tell_ended(const Fence& fence) {
  const Kept& kept = kept_.at(fence);
  tell(wire::from_keeper::Ended{fence, kept.job, kept.task, kept.outcome, kept.started_at});
  // Unasked: who follows a short attempt comes to watch it when it is over.
  tell(wire::from_keeper::Grew{fence, kept.out_bytes, kept.err_bytes, true});
}

void Keeper::give_up_all() {
  ending_ = true;
  for (auto& [fence, run] : attempts_) run->give_up(Lost{"its keeper was ended (SIGTERM)"});
}

}  // namespace gpl::host
