#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <string>

#include "gpl/client/sink.h"
#include "gpl/net/loop.h"
#include "gpl/wire/client_message.h"

namespace gpl::client {

/// One stream of a followed job, on its way to one of this process's descriptors. It never blocks:
/// what the descriptor does not take waits here, bounded by the window of what the peer sends.
class OutputQueue {
 public:
  struct Told {
    /// These bytes, which end before `end`, have been handed on.
    std::function<void(const wire::Position& end, std::size_t bytes)> handed_on;
    /// Once: nothing more can be handed on. EPIPE: the reader is gone; else the errno value.
    std::function<void(int error)> failed;
  };

  /// `loop` outlives this. `closed_at_start` as of Sink.
  OutputQueue(net::Loop& loop, int target, bool closed_at_start, Told told);

  /// `at` is that of the first byte of `data`.
  void add(const wire::Position& at, std::string data);
  /// What was not handed on is forgotten.
  void drop();
  bool drained() const { return pieces_.empty(); }

 private:
  struct Piece {
    wire::Position at;  // of the first byte that is not handed on
    std::string data;
    std::size_t done = 0;
  };

  void write();
  void wait();

  net::Loop& loop_;
  Sink sink_;
  Told told_;
  std::deque<Piece> pieces_;
  net::Watch writable_;
  bool watched_ = false;
  net::Timer retry_;  // where the descriptor cannot be waited for
  bool failed_ = false;
};

}  // namespace gpl::client
