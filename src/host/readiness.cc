#include "readiness.h"

#include <array>
#include <utility>

#include "gpl/posix/error.h"

namespace gpl::host {

Result<Readiness> Readiness::open() {
  posix::Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.valid()) return posix::io_error("cannot wait for descriptors (epoll)");
  return Readiness(std::move(epoll));
}

void Readiness::watch(int fd, std::function<void()> ready) {
  watched_.insert_or_assign(fd, Watched{0, std::move(ready)});
}

void Readiness::want(int fd, std::uint32_t events) {
  const auto found = watched_.find(fd);
  if (found == watched_.end() || found->second.events == events) return;
  epoll_event event = {};
  event.events = events;
  event.data.fd = fd;
  const int how = events == 0                 ? EPOLL_CTL_DEL
                  : found->second.events == 0 ? EPOLL_CTL_ADD
                                              : EPOLL_CTL_MOD;
  (void)::epoll_ctl(epoll_.get(), how, fd, &event);
  found->second.events = events;
}

void Readiness::forget(int fd) {
  want(fd, 0);
  watched_.erase(fd);
}

void Readiness::wait(int timeout_ms) {
  std::array<epoll_event, 128> events = {};
  const int count = ::epoll_wait(epoll_.get(), events.data(), events.size(), timeout_ms);
  for (int i = 0; i < count; ++i) {
    const auto found = watched_.find(events[static_cast<std::size_t>(i)].data.fd);
    if (found == watched_.end() || found->second.events == 0) continue;
    const std::function<void()> ready = found->second.ready;  // it may forget itself
    ready();
  }
}

}  // namespace gpl::host
