#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string_view>

#include "gpl/posix/fd.h"

namespace gpl::client {

/// One of this process's own output descriptors, written without ever blocking and without
/// changing the file status flags that it shares with other processes.
class Sink {
 public:
  /// `fd` stays the caller's. `closed_at_start`: the descriptor was closed when the process began,
  /// so that the first write finds a closed reader.
  explicit Sink(int fd, bool closed_at_start = false);

  /// Writes some of `bytes` and returns how many; 0 when it would block or has failed.
  std::size_t write_some(std::string_view bytes);

  /// 0 while it works; EPIPE when the reader is gone; else the errno value of the failed write.
  int error() const { return error_; }

  /// To poll for writing before the next write_some; -1: always ready.
  int poll_descriptor() const {
    return kind_ == Kind::file || kind_ == Kind::closed ? -1 : target();
  }

 private:
  enum class Kind { closed, file, socket, reopened, shared };
  ssize_t write_once(std::string_view bytes) const;
  int target() const { return own_.valid() ? own_.get() : fd_; }

  int fd_;
  Kind kind_ = Kind::file;
  posix::Fd own_;
  int error_ = 0;
};

}  // namespace gpl::client
