#pragma once

#include <sys/epoll.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gpl/core/time.h"
#include "gpl/net/timer.h"
#include "gpl/net/watch.h"
#include "gpl/posix/fd.h"

namespace gpl::net {

/// What a Loop and those that refer to it share. Owned by the Loop alone: once that is gone their
/// weak references are empty.
struct LoopState : std::enable_shared_from_this<LoopState> {
 public:
  using Task = std::function<void()>;

  Status open();

  bool turn(std::optional<Duration> at_most);
  void post(Task task);
  void stop();
  bool take_stop() { return stopping_.exchange(false); }
  Moment now() const;

  Timer at(Moment when, Task task);
  Timer after(Duration delay, Task task);
  void drop_timer(Moment when, std::uint64_t id);
  bool has_timer(Moment when, std::uint64_t id) const { return timers_.contains({when, id}); }

  Result<Watch> watch(int descriptor, Interest interest, std::function<void(Ready)> ready);
  Status want(std::uint64_t id, Interest interest);
  void drop_watch(std::uint64_t id);

  void at_end_of_turn(Task task) { turn_end_.push_back(std::move(task)); }
  /// After all that was put off to the end of the turn, so that what it sends goes out with it.
  void write_at_end_of_turn(Task task) { writes_.push_back(std::move(task)); }

  /// For one read, the same for all: what is kept of it must be copied.
  std::span<char> read_buffer();
  /// Likewise, for what a channel's records hold of what was read.
  std::string& opened_buffer() { return opened_buffer_; }

 private:
  struct Watched {
    int descriptor;
    Interest interest;
    std::function<void(Ready)> ready;
  };

  int wait(std::optional<Duration> at_most, std::span<epoll_event> events);
  bool arm_clock();
  void wake();
  bool run_due();
  bool dispatch(const epoll_event& event);
  bool run_posted();
  bool end_turn();
  Status set_interest(std::uint64_t id, Watched& watched, Interest interest);

  posix::Fd epoll_;
  posix::Fd wake_;               ///< an eventfd: edge-triggered, so that it is never read
  posix::Fd clock_;              ///< a timerfd: likewise
  std::optional<Moment> armed_;  ///< for when clock_ is set: not later than the first timer
  std::uint64_t next_id_;
  std::map<std::uint64_t, std::shared_ptr<Watched>> watched_;
  std::map<std::pair<Moment, std::uint64_t>, Task> timers_;
  std::vector<Task> turn_end_;
  std::vector<Task> writes_;
  std::unique_ptr<char[]> read_buffer_;
  std::string opened_buffer_;
  bool in_turn_ = false;

  std::atomic<bool> stopping_ = false;
  std::atomic<bool> waiting_ = false;  ///< who finds it true must wake the loop
  std::mutex posted_mutex_;
  std::vector<Task> posted_;
};

}  // namespace gpl::net
