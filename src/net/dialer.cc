#include "gpl/net/dialer.h"

#include <sys/socket.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "gpl/posix/error.h"
#include "socket_address.h"
#include "tcp_options.h"

namespace gpl::net {
namespace {

// A Unix socket whose queue is full says so at once, and never when it is not any more.
constexpr Duration retry_pause = milliseconds(10);

Error connect_error(const std::string& where, int errno_value) {
  Error error = posix::io_error("cannot connect to " + where, errno_value);
  switch (errno_value) {
    case ECONNREFUSED:
    case EHOSTUNREACH:
    case ENETUNREACH:
    case ENETDOWN:
    case EADDRNOTAVAIL:
    case ETIMEDOUT:
      error.code = Code::not_found;
      break;
    default:
      break;
  }
  return error;
}

}  // namespace

struct Dialer::State : std::enable_shared_from_this<Dialer::State> {
 public:
  State(Loop& loop, std::string where, Done done)
      : loop_(loop), where_(std::move(where)), done_(std::move(done)) {}

  void start(const Result<SocketAddress>& address, Duration at_most) {
    if (!address.ok()) return tell_later(address.error());
    address_ = address.value();
    deadline_ = loop_.after(at_most, weakly([](State& self) { self.give_up(); }));
    const int kind = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
    socket_.reset(::socket(address_.storage.ss_family, kind, 0));
    if (!socket_.valid()) return tell_later(posix::io_error("cannot connect to " + where_));
    if (is_tcp()) set_tcp_options(socket_.get());
    connect();
  }

 private:
  bool is_tcp() const { return address_.storage.ss_family != AF_UNIX; }

  template <class F>
  std::function<void()> weakly(F f) {
    return [weak = weak_from_this(), f] {
      if (const auto self = weak.lock()) f(*self);
    };
  }

  void connect() {
    int failed = 0;
    do {
      failed = ::connect(socket_.get(), address_.get(), address_.size) == 0 ? 0 : errno;
    } while (failed == EINTR);
    if (failed == 0) return tell_later(std::nullopt);
    if (failed == EINPROGRESS) return await();
    if (failed != EAGAIN || is_tcp()) return tell_later(connect_error(where_, failed));
    retry_ = loop_.after(retry_pause, weakly([](State& self) { self.connect(); }));
  }

  void await() {
    auto watch = loop_.watch(socket_.get(), Interest::write, [weak = weak_from_this()](Ready) {
      if (const auto self = weak.lock()) self->connected();
    });
    if (!watch.ok()) return tell_later(watch.error());
    watch_ = std::move(watch).value();
  }

  void connected() {
    int failed = 0;
    socklen_t size = sizeof failed;
    ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &failed, &size);
    tell(failed == 0 ? std::nullopt : std::optional(connect_error(where_, failed)));
  }

  void give_up() {
    if (is_tcp()) {
      return tell(Error{Code::not_found, "cannot connect to " + where_ + ": no answer"});
    }
    tell(
        Error{Code::busy, "cannot connect to " + where_ + ": its owner does not take connections"});
  }

  void tell_later(std::optional<Error> error) {
    retry_ =
        loop_.at(Moment{}, weakly([error = std::move(error)](State& self) { self.tell(error); }));
  }

  void tell(std::optional<Error> error) {
    watch_.cancel();
    deadline_.cancel();
    retry_.cancel();
    const Done done = std::exchange(done_, {});
    if (!done) return;
    if (error.has_value()) return done(*std::move(error));
    done(std::move(socket_));
  }

  Loop& loop_;
  std::string where_;
  Done done_;
  SocketAddress address_;
  posix::Fd socket_;
  Watch watch_;
  Timer deadline_;
  Timer retry_;
};

Dialer Dialer::unix_socket(Loop& loop, const std::string& path, Duration at_most, Done done) {
  auto state = std::make_shared<State>(loop, path, std::move(done));
  state->start(unix_address(path), at_most);
  return Dialer(std::move(state));
}

Dialer Dialer::tcp(Loop& loop, const PeerAddress& address, Duration at_most, Done done) {
  auto state = std::make_shared<State>(loop, to_text(address), std::move(done));
  state->start(tcp_address(address), at_most);
  return Dialer(std::move(state));
}

Dialer::Dialer(std::shared_ptr<State> state) : state_(std::move(state)) {}
Dialer::Dialer(Dialer&&) noexcept = default;
Dialer& Dialer::operator=(Dialer&&) noexcept = default;
Dialer::~Dialer() = default;

}  // namespace gpl::net
