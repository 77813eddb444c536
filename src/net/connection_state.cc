#include "connection_state.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "gpl/posix/error.h"

namespace gpl::net {
namespace {

// Within a turn this much is collected before it is written: more would only cost memory.
constexpr std::size_t eager_bytes = std::size_t{256} * 1024;
// Pieces a call. A piece of small frames is 64 KiB, so that more than a socket takes is offered.
constexpr std::size_t pieces_per_write = 64;
// Of a peer that no longer reads but goes on sending, only this many buffers are read.
constexpr int last_reads = 16;

bool gone(int errno_value) { return errno_value == EPIPE || errno_value == ECONNRESET; }

}  // namespace

Connection::State::State(std::weak_ptr<LoopState> loop, posix::Fd socket, ConnectionOptions options,
                         Told told)
    : loop_(std::move(loop)),
      socket_(std::move(socket)),
      options_(options),
      told_(std::move(told)),
      reader_(options.frame_limit_bytes) {}

/// The call of a method, unless the connection has been dropped by then.
template <class F>
std::function<void()> Connection::State::weakly(F method) {
  return [weak = weak_from_this(), method] {
    const auto self = weak.lock();
    if (self != nullptr && !self->dropped_) (self.get()->*method)();
  };
}

void Connection::State::secure(auth::Channel channel) {
  outgoing_.seal_with(std::move(channel.sealer));
  opener_.emplace(std::move(channel.opener));
}

Status Connection::State::start() {
  const auto loop = loop_.lock();
  auto watch = loop->watch(socket_.get(), interest_, [weak = weak_from_this()](Ready ready) {
    const auto self = weak.lock();
    if (self != nullptr && !self->dropped_) self->ready(ready);
  });
  if (!watch.ok()) return watch.error();
  watch_ = std::move(watch).value();
  return success();
}

void Connection::State::drop() {
  dropped_ = true;
  phase_ = Phase::ended;
  watch_.cancel();
  farewell_.cancel();
  socket_.reset();
}

void Connection::State::ready(Ready ready) {
  if (ready.write) {
    blocked_ = false;
    flush();
  }
  if (ready.read && phase_ != Phase::ended) read();
}

/// Reads once; with less than a buffer there is nothing more, and the loop tells otherwise. False
/// when nothing came.
bool Connection::State::read() {
  const auto loop = loop_.lock();
  const std::span<char> buffer = loop->read_buffer();
  const ssize_t count = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (count > 0) {
    if (phase_ == Phase::open) take({buffer.data(), static_cast<std::size_t>(count)});
    return true;
  }
  if (count == 0) {
    ended_by_peer("closed by the peer");
  } else if (gone(errno)) {
    ended_by_peer("reading: " + posix::errno_text(errno));
  } else if (errno != EAGAIN && errno != EINTR) {
    end(CloseCause::failed, "reading: " + posix::errno_text(errno));
  }
  return false;
}

/// Bytes as they came.
void Connection::State::take(std::string_view bytes) {
  if (!opener_.has_value()) {
    reader_.feed(bytes);
    return deliver();
  }
  const auto loop = loop_.lock();
  std::string& opened = loop->opened_buffer();
  opened.clear();
  if (Status status = opener_->open(bytes, opened); !status.ok()) {
    forged_ = std::move(status).error();
  }
  reader_.feed(opened);
  deliver();
}

void Connection::State::deliver() {
  while (phase_ == Phase::open && !paused_) {
    const auto payload = reader_.next();
    if (!payload.ok()) return end(CloseCause::bad_frame, payload.error().message);
    if (!payload.value().has_value()) {
      if (forged_) end(CloseCause::bad_frame, "reading: " + forged_->message);
      return;
    }
    told_.frame(*payload.value());
  }
  // The bytes that were fed are the loop's, for this read alone.
  if (phase_ == Phase::open) reader_.keep();
}

/// An end of the stream now cuts something short.
bool Connection::State::within_message() const {
  return reader_.within_frame() || (opener_.has_value() && opener_->within_record());
}

void Connection::State::ended_by_peer(std::string message) {
  switch (phase_) {
    case Phase::open:
      if (!within_message()) return end(CloseCause::peer, std::move(message));
      return end(CloseCause::cut_short, message + ", in the middle of a frame");
    case Phase::writing_rest:
      return end(CloseCause::peer, std::move(message));
    case Phase::awaiting_peer:
      return end(CloseCause::here, "closed");
    case Phase::ended:
      return;
  }
}

void Connection::State::send(std::string payload) {
  if (!open()) return;
  if (outgoing_.queued_bytes() > options_.queue_limit_bytes) {
    return end(CloseCause::too_slow,
               "the peer does not take what is sent: " + std::to_string(outgoing_.queued_bytes()) +
                   " bytes are waiting");
  }
  outgoing_.add(std::move(payload));
  if (!blocked_ && outgoing_.queued_bytes() >= std::min(eager_bytes, options_.queue_limit_bytes)) {
    write();
  }
  ask_flush();
}

void Connection::State::ask_flush() {
  if (std::exchange(flush_asked_, true)) return;
  if (const auto loop = loop_.lock()) loop->write_at_end_of_turn(weakly(&State::flush));
}

void Connection::State::flush() {
  flush_asked_ = false;
  if (phase_ == Phase::ended) return;
  if (!blocked_ && !broken_.has_value()) write();
  if (broken_.has_value()) {
    update_interest();
    return read_rest();
  }
  if (phase_ == Phase::writing_rest && outgoing_.queued_bytes() == 0) {
    phase_ = Phase::awaiting_peer;
    ::shutdown(socket_.get(), SHUT_WR);
  }
  update_interest();
  tell_pressure();
}

/// Hands the system what it takes. Calls nothing back, so that `send` may use it.
void Connection::State::write() {
  while (outgoing_.queued_bytes() > 0) {
    std::array<std::string_view, pieces_per_write> pieces;
    std::array<iovec, pieces_per_write> vectors;
    const std::size_t count = outgoing_.gather(pieces);
    std::size_t offered = 0;
    for (std::size_t i = 0; i < count; ++i) {
      vectors[i] = {const_cast<char*>(pieces[i].data()), pieces[i].size()};
      offered += pieces[i].size();
    }
    msghdr message = {};
    message.msg_iov = vectors.data();
    message.msg_iovlen = count;
    const ssize_t taken = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (taken < 0 && errno == EINTR) continue;
    if (taken < 0 && errno != EAGAIN) {
      broken_ = errno;
      outgoing_.clear();
      return;
    }
    if (taken > 0) outgoing_.wrote(static_cast<std::size_t>(taken));
    blocked_ = taken < 0 || static_cast<std::size_t>(taken) < offered;
    if (blocked_) return;
  }
}

/// Writing failed. What the peer sent before, its reason perhaps, is told before the end.
void Connection::State::read_rest() {
  if (phase_ != Phase::open) {
    return end(gone(*broken_) ? CloseCause::peer : CloseCause::failed,
               "writing: " + posix::errno_text(*broken_));
  }
  for (int reads = 0; reads < last_reads && phase_ == Phase::open; ++reads) {
    if (paused_) return;  // `resume` comes back here
    if (!read()) break;
  }
  if (phase_ != Phase::open || paused_) return;
  const std::string message = "writing: " + posix::errno_text(*broken_);
  if (gone(*broken_)) return ended_by_peer(message);
  end(CloseCause::failed, message);
}

void Connection::State::tell_pressure() {
  const std::size_t queued = outgoing_.queued_bytes();
  const bool high =
      pressed_ ? queued > options_.low_water_bytes : queued > options_.high_water_bytes;
  if (high == pressed_ || phase_ != Phase::open) return;
  pressed_ = high;
  if (told_.pressure) told_.pressure(high);
}

void Connection::State::update_interest() {
  const bool read = phase_ != Phase::open || !paused_;
  Interest wanted = read ? Interest::read : Interest::none;
  if (blocked_) wanted = read ? Interest::read_write : Interest::write;
  if (phase_ == Phase::ended || wanted == std::exchange(interest_, wanted)) return;
  if (const Status set = watch_.want(wanted); !set.ok()) {
    end(CloseCause::failed, set.error().message);
  }
}

void Connection::State::pause() {
  paused_ = true;
  update_interest();
}

void Connection::State::resume() {
  if (!std::exchange(paused_, false) || phase_ == Phase::ended) return;
  if (const auto loop = loop_.lock()) loop->at_end_of_turn(weakly(&State::resumed));
}

/// What was kept comes before what is read, or before that there is no more to read.
void Connection::State::resumed() {
  deliver();
  update_interest();
  if (broken_.has_value() && phase_ == Phase::open && !paused_) read_rest();
}

void Connection::State::finish() {
  if (phase_ != Phase::open) return;
  phase_ = Phase::writing_rest;
  if (const auto loop = loop_.lock()) {
    farewell_ = loop->after(options_.farewell, weakly(&State::farewell_over));
  }
  update_interest();
  ask_flush();
}

void Connection::State::farewell_over() {
  if (phase_ == Phase::awaiting_peer) return end(CloseCause::here, "closed");
  end(CloseCause::too_slow,
      "the peer does not take what is sent: " + std::to_string(outgoing_.queued_bytes()) +
          " bytes were waiting when it was closed");
}

void Connection::State::end(CloseCause cause, std::string message) {
  if (phase_ == Phase::ended) return;
  phase_ = Phase::ended;
  closing_ = Closing{cause, std::move(message)};
  watch_.cancel();
  farewell_.cancel();
  socket_.reset();
  outgoing_.clear();
  if (const auto loop = loop_.lock()) loop->at_end_of_turn(weakly(&State::tell_closed));
}

void Connection::State::tell_closed() { told_.closed(closing_); }

}  // namespace gpl::net
