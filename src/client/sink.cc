#include "gpl/client/sink.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <string>

namespace gpl::client {

Sink::Sink(int fd, bool closed_at_start) : fd_(fd), error_(closed_at_start ? EPIPE : 0) {
  struct stat status;
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

std::size_t Sink::write_some(std::string_view bytes) {
  if (error_ != 0) return 0;
  ssize_t put = 0;
  do {
    switch (kind_) {
      case Kind::file:
      case Kind::reopened:
        put = ::write(target(), bytes.data(), bytes.size());
        break;
      case Kind::socket:
        put = ::send(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        break;
      case Kind::shared:
        // poll said ready, and then a pipe has room for this many.
        put = ::write(fd_, bytes.data(), std::min<std::size_t>(bytes.size(), PIPE_BUF));
        break;
    }
  } while (put < 0 && errno == EINTR);
  if (put >= 0) return static_cast<std::size_t>(put);
  if (errno != EAGAIN) error_ = errno;
  return 0;
}

}  // namespace gpl::client
