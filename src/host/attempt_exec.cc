#include "attempt_exec.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "gpl/core/overloaded.h"
#include "gpl/host/outcome.h"
#include "gpl/posix/clock.h"
#include "gpl/posix/error.h"

namespace gpl::host {
namespace {

constexpr std::size_t chunk_bytes = 32 * 1024;
constexpr Duration drop_grace = seconds(2);
constexpr Duration take_within = seconds(10);

Moment now() { return Moment{posix::boot_clock().since_epoch_ms}; }

}  // namespace

AttemptExec::AttemptExec(Readiness& readiness, GuardFamily& family, std::uint64_t number)
    : readiness_(readiness), runner_(&family), number_(number) {}

AttemptExec::~AttemptExec() {
  if (link_ >= 0) readiness_.forget(link_);
  for (std::size_t i = 0; i < pipes_.size(); ++i) close(i);
}

void AttemptExec::start(const Command& command, int lock) {
  program_ = command.argv.front();
  Launch launch;
  launch.command = command;
  launch.locks = {lock};
  const posix::Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  std::array<posix::Fd, 2> write_ends;
  for (std::size_t i = 0; i < pipes_.size(); ++i) {
    Result<posix::Pipe> pipe = posix::make_pipe();
    if (!pipe.ok()) return settle(FailedToStart{0, 125, pipe.error().message});
    pipes_[i] = std::move(pipe.value().read);
    write_ends[i] = std::move(pipe.value().write);
    ::fcntl(pipes_[i].get(), F_SETFL, O_NONBLOCK);
    readiness_.watch(pipes_[i].get(), [this, i] { read(i); });
  }
  launch.stdio = {null.get(), write_ends[0].get(), write_ends[1].get()};
  if (Status begun = runner_.start(launch); !begun.ok()) {
    return settle(FailedToStart{0, 125, begun.error().message});
  }
  started_ = true;
  link_ = runner_.descriptor();
  readiness_.watch(link_, [this] { take_events(); });
  readiness_.want(link_, EPOLLIN);
}

void AttemptExec::signal(int number) {
  if (started_ && !gone_) runner_.signal(number);
}

void AttemptExec::end(Duration grace) {
  if (!give_up_at_) give_up_at_ = now() + grace + take_within;
  if (started_ && !gone_) runner_.end(grace.count_ms);
}

void AttemptExec::taken(std::uint64_t bytes) {
  taken_bytes_ = std::min(sent_bytes_, taken_bytes_ + std::min(bytes, sent_bytes_));
}

void AttemptExec::drop() {
  dropped_ = true;
  news_.clear();
  for (std::size_t i = 0; i < pipes_.size(); ++i) close(i);
  end(drop_grace);
}

void AttemptExec::step() {
  if (over_) return;
  if (started_ && !gone_ && runner_.wait_ms() >= 0) take_events();
  const bool room = sent_bytes_ - taken_bytes_ < wire::to_keeper::exec_window_bytes;
  for (std::size_t i = 0; i < pipes_.size(); ++i) {
    if (!pipes_[i].valid()) continue;
    readiness_.want(pipes_[i].get(), room ? std::uint32_t{EPOLLIN} : 0);
    // What it wrote last; whoever else holds the pipe has nothing to say.
    if (gone_ && room) read(i);
  }
  if (gone_ && give_up_at_ && *give_up_at_ <= now())
    for (std::size_t i = 0; i < pipes_.size(); ++i) close(i);
  if (gone_ && !pipes_[0].valid() && !pipes_[1].valid()) settle(std::move(*outcome_));
}

std::optional<Moment> AttemptExec::wake_at(Moment at) const {
  if (over_) return std::nullopt;
  if (started_ && !gone_ && runner_.wait_ms() >= 0) return at + milliseconds(runner_.wait_ms());
  const bool room = sent_bytes_ - taken_bytes_ < wire::to_keeper::exec_window_bytes;
  if (gone_ && room) return at;
  return gone_ ? give_up_at_ : std::nullopt;
}

std::vector<wire::KeeperToPeer> AttemptExec::take_news() { return std::exchange(news_, {}); }

void AttemptExec::take_events() {
  if (gone_) return;
  for (const RunnerEvent& event : runner_.take_events()) {
    std::visit(
        Overloaded{
            [](const Started&) {},
            [&](const SpawnFailed& failed) {
              outcome_ = failure_of(program_, failed.failure);
              gone_ = true;
            },
            [&](const FirstProcessEnded& ended) { outcome_ = outcome_of(ended.wait_status); },
            [&](const AllGone&) { gone_ = true; }, [&](const GuardLost&) { gone_ = true; }},
        event);
  }
  if (link_ != runner_.descriptor() || gone_) {
    readiness_.forget(std::exchange(link_, -1));
    if (!outcome_ && gone_) outcome_ = Lost{"its guard process was killed"};
  }
}

void AttemptExec::read(std::size_t stream) {
  if (!pipes_[stream].valid()) return;
  const std::uint64_t on_their_way = sent_bytes_ - taken_bytes_;
  if (on_their_way >= wire::to_keeper::exec_window_bytes) return;
  std::string chunk(
      std::min<std::uint64_t>(chunk_bytes, wire::to_keeper::exec_window_bytes - on_their_way),
      '\0');
  const ssize_t got = ::read(pipes_[stream].get(), chunk.data(), chunk.size());
  if (got > 0) {
    chunk.resize(static_cast<std::size_t>(got));
    sent_bytes_ += chunk.size();
    news_.push_back(wire::from_keeper::ExecGrew{number_, static_cast<wire::OutputStream>(stream),
                                                std::move(chunk)});
  } else if (got == 0 || (errno != EINTR && errno != EAGAIN) || (errno == EAGAIN && gone_)) {
    close(stream);
  }
}

void AttemptExec::settle(Outcome outcome) {
  for (std::size_t i = 0; i < pipes_.size(); ++i) close(i);
  gone_ = true;
  over_ = true;
  if (!dropped_) news_.push_back(wire::from_keeper::ExecEnded{number_, std::move(outcome)});
}

void AttemptExec::close(std::size_t stream) {
  if (!pipes_[stream].valid()) return;
  readiness_.forget(pipes_[stream].get());
  pipes_[stream].reset();
}

}  // namespace gpl::host
