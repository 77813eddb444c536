#include "greeting.h"

#include <sys/socket.h>

#include <array>
#include <cassert>
#include <cerrno>
#include <optional>
#include <string_view>
#include <utility>

#include "gpl/posix/error.h"
#include "socket_address.h"

namespace gpl::net {
namespace {

PeerAddress remote_of(int socket) {
  SocketAddress address;
  address.size = sizeof address.storage;
  if (::getpeername(socket, address.get(), &address.size) != 0) return {"", 0};
  return to_peer_address(address);
}

PeerAddress local_of(int socket) {
  SocketAddress address;
  address.size = sizeof address.storage;
  if (::getsockname(socket, address.get(), &address.size) != 0) return {"", 0};
  return to_peer_address(address);
}

}  // namespace

struct Greeting::State : std::enable_shared_from_this<Greeting::State> {
 public:
  State(posix::Fd socket, auth::Handshake handshake, Done done)
      : socket_(std::move(socket)), handshake_(std::move(handshake)), done_(std::move(done)) {}

  void start(Loop& loop) {
    // Writable at once: so even the first bytes go out, and an error is told, from the loop.
    auto watch =
        loop.watch(socket_.get(), Interest::read_write, [weak = weak_from_this()](Ready ready) {
          if (const auto self = weak.lock()) self->ready(ready);
        });
    if (watch.ok()) {
      watch_ = std::move(watch).value();
      return;
    }
    refused_ = loop.at(Moment{}, [weak = weak_from_this(), error = watch.error()] {
      if (const auto self = weak.lock()) self->tell(error);
    });
  }

 private:
  void ready(Ready ready) {
    if (ready.write) write();
    if (ready.read && done_) read();
  }

  void read() {
    const std::size_t wanted = handshake_.wanted();
    if (wanted == 0) return;
    assert(wanted <= auth::handshake_message_limit_bytes && taken_.size() < wanted);
    std::array<char, auth::handshake_message_limit_bytes> buffer;
    const std::size_t missing = wanted - taken_.size();
    const ssize_t count = ::recv(socket_.get(), buffer.data(), missing, MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count == 0) return tell(Error{Code::not_found, "the other end closed the connection"});
    if (count < 0) {
      Error error = posix::io_error("reading");
      if (errno == ECONNRESET || errno == ETIMEDOUT) error.code = Code::not_found;
      return tell(std::move(error));
    }
    taken_.append(buffer.data(), static_cast<std::size_t>(count));
    if (taken_.size() < wanted) return;
    Status status = handshake_.take(std::exchange(taken_, {}));
    output_due_ = true;
    if (!status.ok()) {
      // Why it is refused, where the other end may know: as much as the system takes at once.
      const std::string last = unwritten_ + handshake_.output();
      (void)!::send(socket_.get(), last.data(), last.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      return tell(std::move(status).error());
    }
    write();
  }

  void write() {
    if (std::exchange(output_due_, false)) unwritten_ += handshake_.output();
    if (!unwritten_.empty()) {
      const ssize_t count =
          ::send(socket_.get(), unwritten_.data(), unwritten_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      // The other end may have said why before it closed: that is read first.
      if (count < 0 && (errno == EPIPE || errno == ECONNRESET)) {
        unwritten_.clear();
      } else if (count < 0 && errno != EAGAIN && errno != EINTR) {
        return tell(posix::io_error("writing"));
      }
      if (count > 0) unwritten_.erase(0, static_cast<std::size_t>(count));
    }
    if (unwritten_.empty() && handshake_.complete()) return finish();
    const Status set = watch_.want(unwritten_.empty() ? Interest::read : Interest::read_write);
    if (!set.ok()) tell(set.error());
  }

  void finish() {
    SecureSocket made{std::move(socket_), handshake_.established(), {}, {}};
    made.remote = remote_of(made.socket.get());
    made.local = local_of(made.socket.get());
    tell(std::move(made));
  }

  void tell(Result<SecureSocket> result) {
    watch_.cancel();
    refused_.cancel();
    const Done done = std::exchange(done_, {});
    if (done) done(std::move(result));
  }

  posix::Fd socket_;
  auth::Handshake handshake_;
  Done done_;
  Watch watch_;
  Timer refused_;
  std::string taken_;      ///< of the message that comes
  std::string unwritten_;  ///< of those that go
  bool output_due_ = true;
};

Greeting::Greeting(Loop& loop, posix::Fd socket, auth::Handshake handshake, Done done)
    : state_(std::make_shared<State>(std::move(socket), std::move(handshake), std::move(done))) {
  state_->start(loop);
}

}  // namespace gpl::net
