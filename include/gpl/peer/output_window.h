#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "gpl/core/attempt.h"
#include "gpl/peer/output_watch.h"
#include "gpl/wire/client_message.h"

namespace gpl::peer {

/// The output that is on its way to one follower: no more than wire::follow_window_bytes at a time.
class OutputWindow {
 public:
  /// How much more may be sent now.
  std::size_t room() const {
    return used_ < wire::follow_window_bytes ? wire::follow_window_bytes - used_ : 0;
  }
  /// This piece was sent.
  void sent(const Fence& attempt, const wire::Output& piece);
  /// The follower has handed on so much: what it has of this attempt's streams is put into `given`.
  void taken(std::uint64_t bytes, const Fence& current, OutputWatch::Given& given);

 private:
  struct Sent {
    Fence attempt;
    wire::OutputStream stream = wire::OutputStream::out;
    std::uint64_t end = 0;  ///< offset after it
    std::uint64_t bytes = 0;
  };

  std::deque<Sent> on_the_way_;
  std::uint64_t used_ = 0;
  std::uint64_t taken_of_first_ = 0;
};

}  // namespace gpl::peer
