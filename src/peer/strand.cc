#include "gpl/peer/strand.h"

#include <utility>

namespace gpl::peer {

void Strand::submit(Pool::Task work, Pool::Task done, Pool::Length length) {
  Work next{std::move(work), std::move(done), length};
  if (busy_) {
    waiting_.push_back(std::move(next));
  } else {
    start(std::move(next));
  }
}

void Strand::start(Work work) {
  busy_ = true;
  pool_.submit(
      ticket_, std::move(work.work),
      [this, done = std::move(work.done)] {
        busy_ = false;
        if (!waiting_.empty()) {
          Work next = std::move(waiting_.front());
          waiting_.pop_front();
          start(std::move(next));
        }
        if (done) done();
      },
      work.length);
}

}  // namespace gpl::peer
