#include "gpl/posix/fd.h"

#include <fcntl.h>

#include "gpl/posix/error.h"

namespace gpl::posix {

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return io_error("cannot make a pipe");
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

unsigned open_missing_stdio() {
  unsigned closed = 0;
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) != -1) continue;
    closed |= 1U << fd;
    // The lowest free number is this one: those below are open by now.
    (void)::open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY);
  }
  return closed;
}

}  // namespace gpl::posix
