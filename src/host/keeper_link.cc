#include "keeper_link.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "gpl/host/socket_path.h"
#include "gpl/posix/error.h"
#include "gpl/wire/codec.h"

namespace gpl::host {
namespace {

constexpr std::size_t chunk_bytes = 64 * 1024;
constexpr std::size_t most_pieces = 64;
constexpr int backlog = 16;

}  // namespace

KeeperLink::KeeperLink(Readiness& readiness, posix::Fd socket)
    : readiness_(readiness), socket_(std::move(socket)) {
  readiness_.watch(socket_.get(), [this] {
    flush();
    receive();
  });
  readiness_.want(socket_.get(), EPOLLIN);
}

KeeperLink::~KeeperLink() {
  if (socket_.valid()) readiness_.forget(socket_.get());
}

void KeeperLink::send(const wire::KeeperToPeer& message) {
  if (broken_) return;
  std::string payload = wire::encode(message);
  if (payload.size() > wire::frame_limit_bytes) {
    return fail("a message of " + std::to_string(payload.size()) + " bytes is too long for a peer");
  }
  writer_.add(std::move(payload));
  if (writer_.queued_bytes() > limit_bytes) fail("the peer reads too slowly");
}

void KeeperLink::flush() {
  while (!broken_ && writer_.queued_bytes() > 0) {
    std::array<std::string_view, most_pieces> pieces;
    std::array<iovec, most_pieces> parts;
    msghdr message = {};
    message.msg_iov = parts.data();
    message.msg_iovlen = writer_.gather(pieces);
    for (std::size_t i = 0; i < message.msg_iovlen; ++i) {
      parts[i] = {const_cast<char*>(pieces[i].data()), pieces[i].size()};
    }
    const ssize_t put = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno != EAGAIN) return fail("");
    if (put < 0) break;
    writer_.wrote(static_cast<std::size_t>(put));
  }
  if (broken_) return;
  const bool more = writer_.queued_bytes() > 0;
  readiness_.want(socket_.get(), more ? std::uint32_t{EPOLLIN} | EPOLLOUT : EPOLLIN);
}

std::vector<wire::PeerToKeeper> KeeperLink::take_messages() { return std::exchange(messages_, {}); }

void KeeperLink::receive() {
  if (broken_) return;
  char chunk[chunk_bytes];
  const ssize_t got = ::recv(socket_.get(), chunk, sizeof chunk, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return fail("");
  reader_.feed({chunk, static_cast<std::size_t>(got)});
  take_frames();
  if (!broken_) reader_.keep();
}

void KeeperLink::take_frames() {
  while (true) {
    const Result<std::optional<std::string_view>> frame = reader_.next();
    if (!frame.ok()) return fail(frame.error().message);
    if (!frame.value()) return;
    Result<wire::PeerToKeeper> message = wire::decode<wire::PeerToKeeper>(*frame.value());
    if (!message.ok()) return fail(message.error().message);
    const bool is_hello = std::holds_alternative<wire::KeeperHello>(message.value());
    if (is_hello == hello_came_) return fail("a hello must come first, and once");
    if (is_hello) greeted();
    hello_came_ = true;
    messages_.push_back(std::move(message).value());
  }
}

void KeeperLink::fail(std::string why) {
  if (std::exchange(broken_, true)) return;
  why_ = std::move(why);
  readiness_.forget(socket_.get());
  socket_.reset();
  writer_.clear();
}

Result<KeeperSocket> KeeperSocket::open(const std::string& state_folder) {
  Result<std::string> path = socket_path(state_folder, "keeper.sock");
  if (!path.ok()) return std::move(path).error();
  posix::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return posix::io_error("cannot make the keeper's socket");
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.value().c_str(), path.value().size() + 1);
  // The state folder's lock is ours, so whoever made this is gone.
  ::unlink(path.value().c_str());
  // Linux gives the file the socket's mode, less the umask: so nobody else gets in before chmod.
  if (::fchmod(socket.get(), 0600) != 0 ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::chmod(path.value().c_str(), 0600) != 0 || ::listen(socket.get(), backlog) != 0) {
    return posix::io_error("cannot make the keeper's socket " + path.value());
  }
  return KeeperSocket(std::move(socket), std::move(path).value());
}

KeeperSocket::~KeeperSocket() {
  if (socket_.valid()) ::unlink(path_.c_str());
}

posix::Fd KeeperSocket::accept() const {
  while (true) {
    posix::Fd made(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!made.valid()) return made;
    ucred who = {};
    socklen_t size = sizeof who;
    const bool known = ::getsockopt(made.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) == 0;
    if (known && (who.uid == ::geteuid() || who.uid == 0)) return made;
  }
}

}  // namespace gpl::host
