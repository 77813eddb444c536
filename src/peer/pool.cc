#include "gpl/peer/pool.h"

#include <cassert>
#include <utility>

namespace gpl::peer {

Pool::Pool(net::Loop& loop, unsigned threads) : loop_(loop), most_lengthy_(threads - 1) {
  assert(threads >= 2);
  threads_.reserve(threads);
  for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
}

Pool::~Pool() {
  std::deque<Work> dropped[2];
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    dropped[0].swap(brief_);
    dropped[1].swap(lengthy_);
  }
  wake_.notify_all();
  for (std::deque<Work>& works : dropped) works.clear();
  for (std::thread& thread : threads_) thread.join();
}

void Pool::submit(const Ticket& ticket, Task work, Task done, Length length) {
  add({ticket.watch(), std::move(work), std::move(done)}, length);
}

void Pool::submit(Task work, Length length) { add({{}, std::move(work), {}}, length); }

void Pool::add(Work work, Length length) {
  {
    const std::lock_guard lock(mutex_);
    (length == Length::brief ? brief_ : lengthy_).push_back(std::move(work));
  }
  wake_.notify_one();
}

void Pool::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    Work work;
    Length length = Length::brief;
    wake_.wait(lock, [&] { return ending_ || take(work, length); });
    if (ending_) return;
    lock.unlock();
    work.work();
    finish(std::move(work));
    lock.lock();
    // Lengthy work that waits for this is taken by this thread: it looks before it sleeps.
    if (length == Length::lengthy) --lengthy_running_;
  }
}

bool Pool::take(Work& work, Length& length) {
  std::deque<Work>* from = nullptr;
  if (!brief_.empty()) {
    from = &brief_;
    length = Length::brief;
  } else if (!lengthy_.empty() && lengthy_running_ < most_lengthy_) {
    from = &lengthy_;
    length = Length::lengthy;
    ++lengthy_running_;
  } else {
    return false;
  }
  work = std::move(from->front());
  from->pop_front();
  return true;
}

void Pool::finish(Work work) {
  work.work = {};  // what it owns goes here, and not on the loop
  if (!work.done) return;
  bool first = false;
  {
    const std::lock_guard lock(ends_->mutex);
    first = ends_->ends.empty();
    ends_->ends.push_back({std::move(work.asker), std::move(work.done)});
  }
  if (first) loop_.post([ends = std::weak_ptr(ends_)] { tell(ends); });
}

void Pool::tell(const std::weak_ptr<Ends>& ends) {
  std::deque<Told> all;
  if (const std::shared_ptr<Ends> held = ends.lock()) {
    const std::lock_guard lock(held->mutex);
    all.swap(held->ends);
  }
  // The pool itself may be gone after any of them.
  while (!all.empty() && !ends.expired()) {
    Told told = std::move(all.front());
    all.pop_front();
    if (!told.asker.expired()) told.done();
  }
}

}  // namespace gpl::peer
