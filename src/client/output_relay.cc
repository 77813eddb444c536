#include "gpl/client/output_relay.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace gpl::client {
namespace {

constexpr std::size_t buffer_bytes = 65536;  // a pipe's default capacity: pipe(7)

}  // namespace

OutputRelay::OutputRelay(posix::Fd source, Sink& sink)
    : source_(std::move(source)), sink_(&sink), buffer_(buffer_bytes) {
  ::fcntl(source_.get(), F_SETFL, O_NONBLOCK);
}

pollfd OutputRelay::interest() const {
  if (pending_size() > 0) return pollfd{sink_->poll_descriptor(), POLLOUT, 0};
  return pollfd{source_.get(), POLLIN, 0};
}

bool OutputRelay::ready() const {
  return pending_size() > 0 ? sink_->poll_descriptor() < 0 : last_ && source_.valid();
}

void OutputRelay::move() {
  if (pending_size() == 0) fill();
  if (pending_size() > 0) begin_ += sink_->write_some({buffer_.data() + begin_, pending_size()});
}

void OutputRelay::fill() {
  if (!source_.valid()) return;
  ssize_t got = 0;
  do {
    got = ::read(source_.get(), buffer_.data(), buffer_.size());
  } while (got < 0 && errno == EINTR);
  begin_ = 0;
  end_ = got > 0 ? static_cast<std::size_t>(got) : 0;
  const bool empty_for_now = got < 0 && errno == EAGAIN;
  if (got == 0 || (got < 0 && (!empty_for_now || last_))) source_.reset();
}

}  // namespace gpl::client
