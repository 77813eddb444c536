#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "gpl/net/loop.h"

namespace gpl::peer {

/// Held by who submits work: once it is gone, nothing of its work is told any more. To be dropped
/// on the loop's thread.
class Ticket {
 public:
  Ticket() : held_(std::make_shared<char>()) {}
  Ticket(Ticket&&) noexcept = default;
  Ticket& operator=(Ticket&&) noexcept = default;

  std::weak_ptr<const void> watch() const { return held_; }

 private:
  std::shared_ptr<const void> held_;
};

/// A few threads that do what would make the loop wait: read, write, hash, sync. Work must own what
/// it uses, or use what outlives the pool; it is dropped on the thread that did it.
///
/// The loop must outlive the pool. Its end waits for the work that runs; what has not begun is not
/// done, and what is not told yet is not told.
class Pool {
 public:
  using Task = std::function<void()>;
  /// Lengthy: may take many seconds (a whole tree). One thread is always left to what is brief.
  enum class Length { brief, lengthy };

  /// Requires at least 2 threads.
  explicit Pool(net::Loop& loop, unsigned threads = 4);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // On the loop's thread. Work of a length begins in the order submitted.

  /// `done` is called on the loop after `work`, if the ticket is still held by then.
  void submit(const Ticket& ticket, Task work, Task done, Length length = Length::brief);
  /// Work whose end nobody waits for.
  void submit(Task work, Length length = Length::brief);

 private:
  struct Work {
    std::weak_ptr<const void> asker;
    Task work;
    Task done;
  };
  struct Told {
    std::weak_ptr<const void> asker;
    Task done;
  };
  // Lives on while a task posted to the loop looks whether the pool is still there.
  struct Ends {
    std::mutex mutex;
    std::deque<Told> ends;
  };

  void add(Work work, Length length);
  void run();
  // Requires the lock. False when there is nothing that this thread may do.
  bool take(Work& work, Length& length);
  void finish(Work work);
  static void tell(const std::weak_ptr<Ends>& ends);

  net::Loop& loop_;
  const unsigned most_lengthy_;  // at a time
  std::shared_ptr<Ends> ends_ = std::make_shared<Ends>();
  std::mutex mutex_;  // of all below but the threads
  std::condition_variable wake_;
  std::deque<Work> brief_;
  std::deque<Work> lengthy_;
  unsigned lengthy_running_ = 0;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace gpl::peer
