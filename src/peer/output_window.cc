#include "gpl/peer/output_window.h"

#include <algorithm>

namespace gpl::peer {

void OutputWindow::sent(const Fence& attempt, const wire::Output& piece) {
  const std::uint64_t bytes = piece.data.size();
  on_the_way_.push_back({attempt, piece.at.stream, piece.at.offset + bytes, bytes});
  used_ += bytes;
}

void OutputWindow::taken(std::uint64_t bytes, const Fence& current, OutputWatch::Given& given) {
  bytes = std::min(bytes, used_);
  used_ -= bytes;
  taken_of_first_ += bytes;
  while (!on_the_way_.empty() && taken_of_first_ >= on_the_way_.front().bytes) {
    const Sent sent = on_the_way_.front();
    on_the_way_.pop_front();
    taken_of_first_ -= sent.bytes;
    if (sent.attempt != current) continue;
    (sent.stream == wire::OutputStream::out ? given.out_bytes : given.err_bytes) = sent.end;
  }
}

}  // namespace gpl::peer
