#include "gpl/client/sink.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <string>

namespace gpl::client {

Sink::Sink(int fd, bool closed_at_start) : fd_(fd) {
  struct stat status;
  if (closed_at_start) {
    kind_ = Kind::closed;
    return;
  }
  if (::fstat(fd, &status) != 0 || S_ISREG(status.st_mode)) return;
  if (S_ISSOCK(status.st_mode)) {
    kind_ = Kind::socket;
    return;
  }
  // A description of our own can be non-blocking; the one we were given is shared with whoever
  // else writes there. It fails for a pipe or terminal of another user (after su).
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  own_.reset(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  kind_ = own_.valid() ? Kind::reopened : Kind::shared;
}

ssize_t Sink::write_once(std::string_view bytes) const {
  pollfd ready{fd_, POLLOUT, 0};
  switch (kind_) {
    case Kind::closed:
      errno = EPIPE;
      return -1;
    case Kind::file:
    case Kind::reopened:
      return ::write(target(), bytes.data(), bytes.size());
    case Kind::socket:
      return ::send(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    case Kind::shared:
      // A pipe that poll finds ready has room for this many; else this write would block.
      if (::poll(&ready, 1, 0) <= 0) return 0;
      return ::write(fd_, bytes.data(), std::min<std::size_t>(bytes.size(), PIPE_BUF));
  }
  return 0;
}

std::size_t Sink::write_some(std::string_view bytes) {
  if (error_ != 0) return 0;
  ssize_t put = 0;
  do {
    put = write_once(bytes);
  } while (put < 0 && errno == EINTR);
  if (put >= 0) return static_cast<std::size_t>(put);
  const bool reset = kind_ == Kind::socket && errno == ECONNRESET;
  if (errno != EAGAIN) error_ = reset ? EPIPE : errno;
  return 0;
}

}  // namespace gpl::client
