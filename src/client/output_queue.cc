#include "gpl/client/output_queue.h"

#include <utility>

namespace gpl::client {
namespace {

constexpr Duration retry_pause = milliseconds(10);

}  // namespace

OutputQueue::OutputQueue(net::Loop& loop, int target, bool closed_at_start, Told told)
    : loop_(loop), sink_(target, closed_at_start), told_(std::move(told)) {}

void OutputQueue::add(const wire::Position& at, std::string data) {
  if (data.empty()) return;
  const bool was_empty = pieces_.empty();
  pieces_.push_back({at, std::move(data)});
  if (was_empty) write();
}

void OutputQueue::drop() {
  pieces_.clear();
  wait();
}

void OutputQueue::write() {
  while (!pieces_.empty() && !failed_) {
    Piece& piece = pieces_.front();
    const std::size_t put = sink_.write_some(std::string_view(piece.data).substr(piece.done));
    if (put == 0) break;
    piece.done += put;
    piece.at.offset += put;
    const wire::Position end = piece.at;
    if (piece.done == piece.data.size()) pieces_.pop_front();
    told_.handed_on(end, put);
  }
  if (sink_.error() != 0 && !std::exchange(failed_, true)) {
    pieces_.clear();
    wait();
    return told_.failed(sink_.error());
  }
  if (failed_) pieces_.clear();
  wait();
}

void OutputQueue::wait() {
  const bool wanted = !pieces_.empty();
  const int descriptor = sink_.poll_descriptor();
  if (wanted && !watched_ && descriptor >= 0) {
    Result<net::Watch> watch =
        loop_.watch(descriptor, net::Interest::write, [this](net::Ready) { write(); });
    watched_ = watch.ok();
    if (watch.ok()) writable_ = std::move(watch).value();
  } else if (watched_) {
    watched_ = writable_.want(wanted ? net::Interest::write : net::Interest::none).ok();
  }
  // /dev/null cannot be waited for, nor one socket that is both streams; they seldom block.
  if (wanted && !watched_) retry_ = loop_.after(retry_pause, [this] { write(); });
}

}  // namespace gpl::client
