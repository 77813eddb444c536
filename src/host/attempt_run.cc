#include "attempt_run.h"

#include <fcntl.h>

#include <csignal>
#include <utility>

#include "attempt_launch.h"
#include "gpl/core/overloaded.h"
#include "gpl/host/outcome.h"
#include "gpl/host/temp_folder.h"
#include "gpl/posix/clock.h"
#include "gpl/posix/error.h"

namespace gpl::host {
namespace {

constexpr Duration place_again = milliseconds(100);
constexpr Duration silent_wait = seconds(10);
constexpr Duration exec_grace = milliseconds(300);
// A follower has so long to make room on a full disk for what a job wrote last.
constexpr Duration closing_patience = seconds(10);
constexpr Duration closing_again = milliseconds(50);

}  // namespace

AttemptRun::AttemptRun(AttemptSite& site, to_worker::Start order, AttemptFolder folder,
                       KeptOutput output, std::string temp_folder)
    : site_(site),
      order_(std::move(order)),
      folder_(std::move(folder)),
      output_(std::move(output)),
      runner_(&site.family),
      temp_folder_(std::move(temp_folder)) {}

AttemptRun::~AttemptRun() {
  execs_.clear();
  for (std::size_t i = 0; i < pipes_.size(); ++i) forget_pipe(i);
  forget_input();
  if (link_ >= 0) site_.readiness.forget(link_);
  if (has_temp_folder_) site_.removal.remove_temp_folder(temp_folder_);
}

void AttemptRun::prepare(std::vector<wire::Secret> secrets, bool followed) {
  if (phase_ != Phase::preparing) return;
  secrets_ = std::move(secrets);
  output_.follow(followed, 0, 0);
  phase_ = Phase::placing;
}

void AttemptRun::fail(FailedToStart failure) {
  if (phase_ == Phase::preparing || phase_ == Phase::placing) finish(std::move(failure));
}

void AttemptRun::end(Duration grace) {
  ending_ = true;
  if (phase_ == Phase::preparing || phase_ == Phase::placing) return finish(Cancelled{});
  if (phase_ == Phase::running) runner_.end(grace.count_ms);
  for (auto& [number, exec] : execs_) exec->end(grace);
}

void AttemptRun::give_up(Lost outcome) {
  given_up_ = outcome;
  if (phase_ == Phase::preparing || phase_ == Phase::placing) return finish(std::move(outcome));
  end(site_.options.worker.grace);
}

void AttemptRun::signal(int number) {
  if (phase_ == Phase::running && number > 0) runner_.signal(number);
}

bool AttemptRun::put_input(const wire::to_keeper::Input& input) {
  const bool taken = input_.put(input.offset, input.data, input.end);
  if (!input_.open()) forget_input();
  return taken;
}

void AttemptRun::exec(std::uint64_t number, const std::vector<std::string>& command) {
  if (phase_ != Phase::running || pid_ == 0 || ending_ || outcome_) {
    news_.push_back(wire::from_keeper::ExecEnded{
        number, FailedToStart{0, 125, "the attempt does not run (any more)"}});
    return;
  }
  if (command.empty()) {
    news_.push_back(wire::from_keeper::ExecEnded{number, FailedToStart{0, 125, "no command"}});
    return;
  }
  auto made = std::make_unique<AttemptExec>(site_.readiness, site_.family, number);
  made->start({command, command_.environment, command_.working_folder}, folder_.descriptor());
  execs_.insert_or_assign(number, std::move(made));
}

AttemptExec* AttemptRun::find_exec(std::uint64_t number) {
  const auto found = execs_.find(number);
  return found != execs_.end() ? found->second.get() : nullptr;
}

void AttemptRun::drop_execs() {
  for (auto& [number, exec] : execs_) exec->drop();
}

void AttemptRun::step(Moment now) {
  if (phase_ == Phase::placing && place_at_ <= now) place(now);
  if (phase_ == Phase::running) {
    if (runner_.wait_ms() >= 0) take_events(now);
    if (limit_at_ && *limit_at_ <= now) {
      limit_at_.reset();
      timed_out_ = true;
      end(site_.options.worker.grace);
    }
  }
  output_.retry(now);
  if (phase_ == Phase::closing) close(now);
  step_execs();
  watch_output();
  watch_input();
  if (std::optional<std::string> text = output_.take_note()) note(*text);
}

std::optional<Moment> AttemptRun::wake_at(Moment now) const {
  std::optional<Moment> wake;
  const auto add = [&](std::optional<Moment> at) {
    if (at && (!wake || *at < *wake)) wake = at;
  };
  if (phase_ == Phase::placing) add(place_at_);
  if (phase_ == Phase::running) {
    add(limit_at_);
    if (runner_.wait_ms() >= 0) add(now + milliseconds(runner_.wait_ms()));
  }
  if (phase_ == Phase::closing) add(now + closing_again);
  if (phase_ != Phase::over) add(output_.wake_at());
  for (const auto& [number, exec] : execs_) add(exec->wake_at(now));
  return wake;
}

std::optional<Outcome> AttemptRun::take_outcome() {
  if (phase_ != Phase::over || outcome_taken_) return std::nullopt;
  outcome_taken_ = true;
  return outcome_;
}

std::vector<wire::KeeperToPeer> AttemptRun::take_news() { return std::exchange(news_, {}); }

/// Whoever holds a device may hold it for long: the attempt waits, and holds nothing meanwhile.
void AttemptRun::place(Moment now) {
  DeviceTry tried = take_devices(order_, site_.offer, site_.options.lock_folders);
  if (tried.obstacle.empty()) return launch(now, std::move(tried.locks));
  place_at_ = now + place_again;
  if (!waits_since_) waits_since_ = now;
  if (now - *waits_since_ >= silent_wait && !std::exchange(wait_told_, true)) {
    note("waits for " + tried.obstacle);
  }
}

void AttemptRun::launch(Moment, std::vector<posix::Fd> device_locks) {
  Result<TempFolder> temp = TempFolder::make_at(temp_folder_);
  if (!temp.ok()) return finish(FailedToStart{0, 125, temp.error().message});
  temp_folder_ = temp.value().release();
  has_temp_folder_ = true;
  Result<Command> command =
      command_of(order_, site_.offer, site_.options, secrets_, temp_folder_, folder_.work_path());
  secrets_.clear();
  if (!command.ok()) return finish(FailedToStart{0, 125, command.error().message});
  command_ = std::move(command).value();
  if (Status begun = start(command_, std::move(device_locks)); !begun.ok()) {
    return finish(FailedToStart{0, 125, begun.error().message});
  }
  phase_ = Phase::running;
  link_ = runner_.descriptor();
  site_.readiness.watch(link_, [this] { take_events(Moment{posix::boot_clock().since_epoch_ms}); });
  site_.readiness.want(link_, EPOLLIN);
}

Status AttemptRun::start(const Command& command, std::vector<posix::Fd> device_locks) {
  Result<posix::Pipe> out = posix::make_pipe();
  if (!out.ok()) return out.error();
  Result<posix::Pipe> err = posix::make_pipe();
  if (!err.ok()) return err.error();
  // Without /dev/null a pipe that nobody writes to reads as empty too.
  posix::Fd in;
  posix::Fd feed;
  if (!order_.description.spec.pass_stdin) in.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!in.valid()) {
    Result<posix::Pipe> pipe = posix::make_pipe();
    if (!pipe.ok()) return pipe.error();
    in = std::move(pipe.value().read);
    feed = std::move(pipe.value().write);
  }
  Launch launch;
  launch.command = command;
  launch.stdio = {in.get(), out.value().write.get(), err.value().write.get()};
  launch.locks = {folder_.descriptor()};
  for (const posix::Fd& lock : device_locks) launch.locks.push_back(lock.get());
  if (Status begun = runner_.start(launch); !begun.ok()) return begun;
  output_.attach(std::move(out.value().read), std::move(err.value().read));
  if (order_.description.spec.pass_stdin) input_.attach(std::move(feed));
  return success();
}

void AttemptRun::take_events(Moment now) {
  if (phase_ != Phase::running) return;
  for (const RunnerEvent& event : runner_.take_events()) take_event(now, event);
  if (link_ >= 0 && (phase_ != Phase::running || runner_.descriptor() != link_)) {
    site_.readiness.forget(std::exchange(link_, -1));
  }
}

void AttemptRun::take_event(Moment now, const RunnerEvent& event) {
  const auto all_gone = [&](int survivors, const char* why) {
    if (survivors > 0) {
      note(std::to_string(survivors) +
           " of its processes could not be ended: the kernel does not let them go (state D in ps)");
    }
    if (!outcome_) outcome_ = given_up_ ? Outcome(*given_up_) : Outcome(Lost{why});
    begin_closing(now);
  };
  std::visit(
      Overloaded{
          [&](const Started& started) {
            pid_ = started.pid;
            started_news_ = true;
            const auto limit = order_.description.spec.time_limit;
            if (limit) limit_at_ = now + *limit;
            (void)folder_.write_trace({temp_folder_, posix::wall_clock(), pid_});
            news_.push_back(
                wire::from_keeper::Running{order_.fence, order_.job, order_.task, pid_});
          },
          [&](const SpawnFailed& failed) {
            outcome_ = failure_of(order_.description.spec.command.front(), failed.failure);
            begin_closing(now);
          },
          [&](const FirstProcessEnded& ended) {
            limit_at_.reset();
            outcome_ = outcome_of_status(ended.wait_status);
            for (auto& [number, exec] : execs_) exec->end(exec_grace);
          },
          [&](const AllGone& gone) { all_gone(gone.survivors, "its first process vanished"); },
          [&](const GuardLost&) { all_gone(runner_.survivors(), "its guard process was killed"); }},
      event);
}

Outcome AttemptRun::outcome_of_status(int wait_status) const {
  const Outcome outcome = outcome_of(wait_status);
  if (given_up_) return *given_up_;
  if (timed_out_) return TimedOut{cancelled_by(outcome).signal};
  return outcome;
}

void AttemptRun::begin_closing(Moment now) {
  phase_ = Phase::closing;
  limit_at_.reset();
  closing_until_ = now + closing_patience;
  for (auto& [number, exec] : execs_) exec->end(exec_grace);
  forget_input();
  input_.close();
  for (std::size_t i = 0; i < pipes_.size(); ++i) forget_pipe(i);
}

void AttemptRun::close(Moment now) {
  const bool give_up = ending_ || *closing_until_ <= now;
  if (!output_.finish(now, give_up) || !execs_.empty()) return;
  if (Status synced = output_.sync(); !synced.ok()) note(synced.error().message);
  finish(std::move(*outcome_));
}

void AttemptRun::step_execs() {
  for (auto exec = execs_.begin(); exec != execs_.end();) {
    exec->second->step();
    for (wire::KeeperToPeer& each : exec->second->take_news()) news_.push_back(std::move(each));
    exec = exec->second->over() ? execs_.erase(exec) : std::next(exec);
  }
}

void AttemptRun::watch_output() {
  if (phase_ != Phase::running) return;
  for (const wire::OutputStream stream : KeptOutput::streams) {
    const auto i = static_cast<std::size_t>(stream);
    const int wanted = output_.wanted(stream);
    if (wanted >= 0 && pipes_[i] != wanted) {
      pipes_[i] = wanted;
      site_.readiness.watch(wanted, [this, i] { read(i); });
    }
    if (pipes_[i] >= 0) site_.readiness.want(pipes_[i], wanted >= 0 ? std::uint32_t{EPOLLIN} : 0);
  }
}

void AttemptRun::watch_input() {
  const int wanted = phase_ == Phase::running ? input_.wanted() : -1;
  if (wanted >= 0 && input_pipe_ != wanted) {
    input_pipe_ = wanted;
    site_.readiness.watch(wanted, [this] { write_input(); });
  }
  if (input_pipe_ >= 0) {
    site_.readiness.want(input_pipe_, wanted >= 0 ? std::uint32_t{EPOLLOUT} : 0);
  }
}

void AttemptRun::forget_pipe(std::size_t stream) {
  if (pipes_[stream] >= 0) site_.readiness.forget(std::exchange(pipes_[stream], -1));
}

void AttemptRun::read(std::size_t stream) {
  const auto which = static_cast<wire::OutputStream>(stream);
  if (output_.wanted(which) < 0) return;
  output_.read(which, Moment{posix::boot_clock().since_epoch_ms});
  if (!output_.open(which)) forget_pipe(stream);
}

void AttemptRun::write_input() {
  input_.write();
  if (!input_.open()) forget_input();
}

void AttemptRun::forget_input() {
  if (input_pipe_ >= 0) site_.readiness.forget(std::exchange(input_pipe_, -1));
}

void AttemptRun::finish(Outcome outcome) {
  outcome_ = std::move(outcome);
  phase_ = Phase::over;
}

void AttemptRun::note(const std::string& text) {
  news_.push_back(wire::from_keeper::KeeperNote{
      "job " + std::to_string(order_.job.value) + ", task " + std::to_string(order_.task.value) +
      ", attempt " + std::to_string(order_.fence.attempt.value) + ": " + text});
}

}  // namespace gpl::host
