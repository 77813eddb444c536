#include "gpl/net/listener.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "gpl/posix/error.h"
#include "socket_address.h"
#include "tcp_options.h"
#include "unix_path.h"

namespace gpl::net {
namespace {

constexpr int backlog = 1024;
// Then the loop looks after the others too.
constexpr int accepts_per_turn = 16;
// Nothing tells that there are descriptors again.
constexpr Duration retry_pause = milliseconds(100);

}  // namespace

struct Listener::State : std::enable_shared_from_this<Listener::State> {
 public:
  State(Loop& loop, posix::Fd socket, std::optional<UnixPath> path, PeerAddress at, Told told)
      : address(std::move(at)),
        loop_(loop),
        path_(std::move(path)),
        socket_(std::move(socket)),
        told_(std::move(told)) {}

  Status start() {
    if (::listen(socket_.get(), backlog) != 0) return posix::io_error("cannot listen");
    auto watch = loop_.watch(socket_.get(), [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->accept();
    });
    if (!watch.ok()) return watch.error();
    watch_ = std::move(watch).value();
    return success();
  }

  /// The handle is gone: nothing is told any more.
  void drop() {
    dropped_ = true;
    watch_.cancel();
    retry_.cancel();
    path_.reset();
    socket_.reset();
  }

  const PeerAddress address;

 private:
  void accept() {
    for (int i = 0; i < accepts_per_turn && !dropped_; ++i) {
      SocketAddress from;
      from.size = sizeof from.storage;
      posix::Fd socket(
          ::accept4(socket_.get(), from.get(), &from.size, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!socket.valid()) {
        if (!go_on_after(errno)) return;
        continue;
      }
      noted_ = false;
      if (path_.has_value()) {
        told_.accepted(std::move(socket), PeerAddress{"", 0});
      } else {
        set_tcp_options(socket.get());
        told_.accepted(std::move(socket), to_peer_address(from));
      }
    }
  }

  /// Whether to try for the next one at once.
  bool go_on_after(int errno_value) {
    switch (errno_value) {
      case EAGAIN:
        return false;
      // One that came and went, or whose network failed: accept(2) hands its errors over.
      case EINTR:
      case ECONNABORTED:
      case EPROTO:
      case EPERM:
      case ENETDOWN:
      case ENETUNREACH:
      case EHOSTDOWN:
      case EHOSTUNREACH:
      case ENONET:
      case ENOPROTOOPT:
      case EOPNOTSUPP:
        return true;
      default:
        pause(errno_value);
        return false;
    }
  }

  /// Those that wait stay in the system's queue.
  void pause(int errno_value) {
    (void)watch_.want(Interest::none);
    retry_ = loop_.after(retry_pause, [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (self == nullptr) return;
      (void)self->watch_.want(Interest::read);
      self->accept();
    });
    if (std::exchange(noted_, true) || !told_.note) return;
    told_.note("cannot accept a connection: " + posix::errno_text(errno_value) +
               "; those that come wait until it can");
  }

  Loop& loop_;
  std::optional<UnixPath> path_;
  posix::Fd socket_;
  Watch watch_;
  Timer retry_;
  Told told_;
  bool noted_ = false;
  bool dropped_ = false;
};

Result<Listener> Listener::listen_unix(Loop& loop, const std::string& path, mode_t mode,
                                       Told told) {
  posix::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return posix::io_error("cannot make the socket '" + path + "'");
  auto bound = UnixPath::bind(socket.get(), path, mode);
  if (!bound.ok()) return bound.error();
  auto state = std::make_shared<State>(loop, std::move(socket), std::move(bound).value(),
                                       PeerAddress{"", 0}, std::move(told));
  if (Status started = state->start(); !started.ok()) return started.error();
  return Listener(std::move(state));
}

Result<Listener> Listener::listen_tcp(Loop& loop, const PeerAddress& address, Told told) {
  const std::string where = to_text(address);
  auto name = tcp_address(address);
  if (!name.ok()) return name.error();
  const int kind = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
  posix::Fd socket(::socket(name.value().storage.ss_family, kind, 0));
  if (!socket.valid()) return posix::io_error("cannot listen on " + where);
  // A restarted peer takes its port again at once; of two live ones the second is still refused.
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const int off = 0;
  ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (::bind(socket.get(), name.value().get(), name.value().size) != 0) {
    Error error = posix::io_error("cannot listen on " + where);
    if (errno == EADDRINUSE) error.code = Code::busy;
    if (errno == EADDRNOTAVAIL) error.code = Code::not_found;
    return error;
  }
  SocketAddress bound;
  bound.size = sizeof bound.storage;
  ::getsockname(socket.get(), bound.get(), &bound.size);
  auto state = std::make_shared<State>(loop, std::move(socket), std::nullopt,
                                       to_peer_address(bound), std::move(told));
  if (Status started = state->start(); !started.ok()) return started.error();
  return Listener(std::move(state));
}

Listener::Listener(std::shared_ptr<State> state) : state_(std::move(state)) {}
Listener::Listener(Listener&&) noexcept = default;
Listener& Listener::operator=(Listener&& other) noexcept {
  if (state_ != nullptr && this != &other) state_->drop();
  state_ = std::move(other.state_);
  return *this;
}
Listener::~Listener() {
  if (state_ != nullptr) state_->drop();
}

const PeerAddress& Listener::address() const { return state_->address; }

}  // namespace gpl::net
