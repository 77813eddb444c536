#pragma once

#include <poll.h>

#include <string>
#include <vector>

#include "gpl/client/sink.h"
#include "gpl/posix/fd.h"

namespace gpl::client {

/// Carries one stream of a job, byte for byte, from its pipe to a Sink. It reads only when all that
/// it read before has been written, so a slow reader makes the job wait as on any pipe.
class OutputRelay {
 public:
  /// `source` is set non-blocking.
  OutputRelay(posix::Fd source, Sink& sink);

  /// What to poll for next; fd -1 when there is nothing to wait for.
  pollfd interest() const;
  /// Whether `move` has something to do without waiting for anything.
  bool ready() const;
  /// Moves what can be moved without blocking. Call when `interest` is ready.
  void move();
  /// No writer is left or will be: what the pipe still holds is all, though it may stay open.
  void expect_no_more() { last_ = true; }
  /// Reads no more, and drops what was read: the job finds its pipe closed.
  void abandon() {
    source_.reset();
    begin_ = end_;
  }
  /// Goes on into another sink, with what the old one did not take first.
  void redirect(Sink& sink) { sink_ = &sink; }

  const Sink& sink() const { return *sink_; }
  bool drained() const { return !source_.valid() && pending_size() == 0; }

 private:
  std::size_t pending_size() const { return end_ - begin_; }
  void fill();

  posix::Fd source_;
  Sink* sink_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool last_ = false;
};

}  // namespace gpl::client
