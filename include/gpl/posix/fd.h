#pragma once

#include <unistd.h>

#include <utility>

#include "gpl/core/result.h"

namespace gpl::posix {

/// Owns a file descriptor and closes it. -1 stands for none.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  ~Fd() { reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

struct Pipe {
  Fd read;
  Fd write;
};

/// A pipe whose ends are closed on exec.
Result<Pipe> make_pipe();

/// Opens /dev/null on each of 0, 1 and 2 that is closed, so that no file opened later takes its
/// number. Returns a bit mask of those that were closed (bit N for descriptor N).
unsigned open_missing_stdio();

}  // namespace gpl::posix
