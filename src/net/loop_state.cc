#include "loop_state.h"

#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <ctime>

#include "gpl/posix/clock.h"
#include "gpl/posix/error.h"

namespace gpl::net {
namespace {

// What epoll tells of: a watch's number, or one of these.
constexpr std::uint64_t wake_id = 0;
constexpr std::uint64_t clock_id = 1;
constexpr std::uint64_t first_watch_id = 2;

// About 290 years: what a timerfd takes.
constexpr Moment latest{std::int64_t{9'000'000'000'000}};

constexpr std::size_t read_buffer_bytes = std::size_t{256} * 1024;

bool wants_read(Interest interest) {
  return interest == Interest::read || interest == Interest::read_write;
}
bool wants_write(Interest interest) {
  return interest == Interest::write || interest == Interest::read_write;
}

bool run_all(std::vector<std::function<void()>>& queue) {
  std::vector<std::function<void()>> tasks;
  tasks.swap(queue);
  for (const auto& task : tasks) task();
  return !tasks.empty();
}

}  // namespace

Status LoopState::open() {
  next_id_ = first_watch_id;
  epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  wake_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  clock_.reset(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!epoll_.valid() || !wake_.valid() || !clock_.valid()) {
    return posix::io_error("cannot make the event loop");
  }
  for (const auto& [fd, id] : {std::pair{wake_.get(), wake_id}, {clock_.get(), clock_id}}) {
    epoll_event event = {};
    event.events = EPOLLIN | EPOLLET;
    event.data.u64 = id;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
      return posix::io_error("cannot make the event loop");
    }
  }
  return success();
}

Moment LoopState::now() const { return Moment{posix::boot_clock().since_epoch_ms}; }

bool LoopState::turn(std::optional<Duration> at_most) {
  assert(!in_turn_);
  in_turn_ = true;
  // A test's failed requirement leaves a task by an exception.
  struct Leave {
    bool& flag;
    ~Leave() { flag = false; }
  } const leave{in_turn_};

  std::array<epoll_event, 64> events;
  const int count = wait(at_most, events);
  bool ran = run_due();
  for (int i = 0; i < count; ++i) ran |= dispatch(events[static_cast<std::size_t>(i)]);
  ran |= run_posted();
  ran |= end_turn();
  return ran;
}

int LoopState::wait(std::optional<Duration> at_most, std::span<epoll_event> events) {
  int timeout_ms = -1;
  if (at_most.has_value()) {
    timeout_ms = static_cast<int>(std::clamp<std::int64_t>(at_most->count_ms, 0, 1'000'000'000));
  }
  if (!turn_end_.empty() || !writes_.empty() || arm_clock()) timeout_ms = 0;
  if (timeout_ms != 0) {
    // Who posts or stops after this wakes the loop; who did so before is seen below.
    waiting_ = true;
    const std::lock_guard lock(posted_mutex_);
    if (!posted_.empty() || stopping_) timeout_ms = 0;
  }
  int count = 0;
  do {
    count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), timeout_ms);
  } while (count < 0 && errno == EINTR);
  assert(count >= 0);
  waiting_ = false;
  return count;
}

/// Whether a timer is due. Timers mostly move later or are cancelled: the clock is set anew only
/// when it would ring too late, and ringing too early costs one empty turn.
bool LoopState::arm_clock() {
  if (timers_.empty()) return false;
  const Moment first = std::min(timers_.begin()->first.first, latest);
  if (armed_.has_value() && *armed_ <= first) return false;
  if (first <= now()) return true;
  itimerspec spec = {};
  spec.it_value = posix::to_timespec(first.since_boot_ms * 1'000'000);
  const int failed = ::timerfd_settime(clock_.get(), TFD_TIMER_ABSTIME, &spec, nullptr);
  assert(failed == 0);
  armed_ = first;
  return false;
}

bool LoopState::run_due() {
  if (timers_.empty()) return false;
  // Only those that are due at the start: one that always adds another must not hold the turn.
  const Moment time = now();
  std::vector<std::pair<Moment, std::uint64_t>> due;
  for (const auto& [key, task] : timers_) {
    if (key.first > time) break;
    due.push_back(key);
  }
  for (const auto& key : due) {
    const auto timer = timers_.extract(key);
    if (!timer.empty()) timer.mapped()();
  }
  return !due.empty();
}

bool LoopState::dispatch(const epoll_event& event) {
  if (event.data.u64 == wake_id) return false;
  if (event.data.u64 == clock_id) {
    armed_.reset();
    return false;
  }
  const auto found = watched_.find(event.data.u64);
  if (found == watched_.end()) return false;
  // It may drop itself while it runs.
  const std::shared_ptr<Watched> watched = found->second;
  const bool broken = (event.events & (EPOLLHUP | EPOLLERR)) != 0;
  Ready ready;
  ready.read = wants_read(watched->interest) && (broken || (event.events & EPOLLIN) != 0);
  ready.write = wants_write(watched->interest) && (broken || (event.events & EPOLLOUT) != 0);
  if (!ready.read && !ready.write) return false;
  watched->ready(ready);
  return true;
}

bool LoopState::run_posted() {
  std::vector<Task> tasks;
  {
    const std::lock_guard lock(posted_mutex_);
    tasks.swap(posted_);
  }
  return run_all(tasks);
}

bool LoopState::end_turn() {
  bool ran = false;
  while (!turn_end_.empty() || !writes_.empty()) {
    ran |= run_all(turn_end_.empty() ? writes_ : turn_end_);
  }
  return ran;
}

void LoopState::post(Task task) {
  {
    const std::lock_guard lock(posted_mutex_);
    posted_.push_back(std::move(task));
  }
  wake();
}

void LoopState::stop() {
  stopping_ = true;
  wake();
}

void LoopState::wake() {
  if (!waiting_.exchange(false)) return;
  [[maybe_unused]] const int failed = ::eventfd_write(wake_.get(), 1);
}

Timer LoopState::at(Moment when, Task task) {
  const std::uint64_t id = next_id_++;
  timers_.emplace(std::pair{when, id}, std::move(task));
  return Timer(weak_from_this(), when, id);
}

Timer LoopState::after(Duration delay, Task task) {
  // The clock is read rounded down: one more, so that all of the delay has passed.
  return at(now() + delay + milliseconds(1), std::move(task));
}

void LoopState::drop_timer(Moment when, std::uint64_t id) {
  // Extracted first: what the task owns may drop timers too when it goes.
  const auto timer = timers_.extract({when, id});
}

Result<Watch> LoopState::watch(int descriptor, Interest interest,
                               std::function<void(Ready)> ready) {
  const std::uint64_t id = next_id_++;
  auto watched = std::make_shared<Watched>(Watched{descriptor, Interest::none, std::move(ready)});
  if (const Status set = set_interest(id, *watched, interest); !set.ok()) return set.error();
  watched_.emplace(id, std::move(watched));
  return Watch(weak_from_this(), id);
}

Status LoopState::want(std::uint64_t id, Interest interest) {
  const auto found = watched_.find(id);
  if (found == watched_.end()) return success();
  return set_interest(id, *found->second, interest);
}

Status LoopState::set_interest(std::uint64_t id, Watched& watched, Interest interest) {
  if (watched.interest == interest) return success();
  epoll_event event = {};
  event.data.u64 = id;
  if (wants_read(interest)) event.events |= EPOLLIN;
  if (wants_write(interest)) event.events |= EPOLLOUT;
  // With no interest a broken descriptor would still be told of, in every turn: it is taken out.
  int change = EPOLL_CTL_MOD;
  if (interest == Interest::none) change = EPOLL_CTL_DEL;
  if (watched.interest == Interest::none) change = EPOLL_CTL_ADD;
  if (::epoll_ctl(epoll_.get(), change, watched.descriptor, &event) != 0) {
    return posix::io_error("cannot wait for descriptor " + std::to_string(watched.descriptor));
  }
  watched.interest = interest;
  return success();
}

void LoopState::drop_watch(std::uint64_t id) {
  const auto found = watched_.extract(id);
  if (found.empty()) return;
  // Taken out by hand: a copy of the descriptor in a forked process would keep it there.
  (void)set_interest(id, *found.mapped(), Interest::none);
}

std::span<char> LoopState::read_buffer() {
  // Not zeroed: pages that are never read into are never there.
  if (read_buffer_ == nullptr) {
    read_buffer_ = std::make_unique_for_overwrite<char[]>(read_buffer_bytes);
  }
  return {read_buffer_.get(), read_buffer_bytes};
}

}  // namespace gpl::net
