#pragma once

#include <cstddef>
#include <deque>

#include "gpl/peer/pool.h"

namespace gpl::peer {

/// Work of a pool that is done one after the other, in order. Its end drops what has not begun and
/// tells nothing more; work that runs goes on. On the loop's thread alone; the pool must outlive
/// it.
class Strand {
 public:
  explicit Strand(Pool& pool) : pool_(pool) {}
  Strand(const Strand&) = delete;
  Strand& operator=(const Strand&) = delete;

  /// `done` is called on the loop, and may drop the strand.
  void submit(Pool::Task work, Pool::Task done, Pool::Length length = Pool::Length::brief);

  /// How many have not been told yet.
  std::size_t pending() const { return waiting_.size() + (busy_ ? 1 : 0); }

 private:
  struct Work {
    Pool::Task work;
    Pool::Task done;
    Pool::Length length;
  };
  void start(Work work);

  Pool& pool_;
  std::deque<Work> waiting_;
  bool busy_ = false;
  Ticket ticket_;
};

}  // namespace gpl::peer
