#pragma once

#include <sys/epoll.h>

#include <cstdint>
#include <functional>
#include <map>

#include "gpl/core/result.h"
#include "gpl/posix/fd.h"

namespace gpl::host {

/// Calls back when descriptors are ready (epoll(7), level-triggered). A callback may come although
/// there is nothing to do: what it does must not block.
class Readiness {
 public:
  static Result<Readiness> open();

  /// Nothing is waited for until `want`.
  void watch(int fd, std::function<void()> ready);
  /// EPOLLIN, EPOLLOUT, both, or 0: nothing, not even that it is at its end.
  void want(int fd, std::uint32_t events);
  /// Before it is closed. One that is not watched is passed over.
  void forget(int fd);

  /// Waits for at most `timeout_ms` (-1: no limit) and calls back.
  void wait(int timeout_ms);

 private:
  explicit Readiness(posix::Fd epoll) : epoll_(std::move(epoll)) {}
  struct Watched {
    std::uint32_t events = 0;
    std::function<void()> ready;
  };

  posix::Fd epoll_;
  std::map<int, Watched> watched_;
};

}  // namespace gpl::host
