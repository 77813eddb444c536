#include "gpl/client/signal_watch.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <vector>

#include "../forked.h"

using gpl::client::SignalWatch;

namespace {

bool readable(const SignalWatch& watch) {
  pollfd events{watch.descriptor(), POLLIN, 0};
  return ::poll(&events, 1, 0) == 1;
}

}  // namespace

TEST_CASE("a watched signal is read and does not interrupt") {
  CHECK(forked([] {
          SignalWatch watch{SIGINT, SIGTERM};
          if (readable(watch) || !watch.take().empty()) return 1;
          ::raise(SIGTERM);
          if (!readable(watch)) return 2;
          if (watch.take() != std::vector<int>{SIGTERM}) return 3;
          return readable(watch) || !watch.take().empty() ? 4 : 0;
        }) == 0);
}

TEST_CASE("several signals are taken at once") {
  CHECK(forked([] {
          SignalWatch watch{SIGINT, SIGTERM, SIGHUP};
          for (const int number : {SIGHUP, SIGINT, SIGTERM}) ::raise(number);
          std::vector<int> taken = watch.take();
          std::sort(taken.begin(), taken.end());
          return taken == std::vector<int>{SIGHUP, SIGINT, SIGTERM} ? 0 : 1;
        }) == 0);
}

TEST_CASE("a signal that is not watched does what it always does") {
  CHECK(forked([] {
          const SignalWatch watch{SIGINT};
          ::signal(SIGUSR1, SIG_DFL);
          ::raise(SIGUSR1);
          return 0;
        }) == 128 + SIGUSR1);
}

TEST_CASE("a signal that was ignored when the process began stays ignored") {
  CHECK(forked([] {
          ::signal(SIGHUP, SIG_IGN);
          SignalWatch watch{SIGINT, SIGHUP};
          ::raise(SIGHUP);
          if (readable(watch) || !watch.take().empty()) return 1;
          ::raise(SIGINT);
          return watch.take() == std::vector<int>{SIGINT} ? 0 : 2;
        }) == 0);
}

TEST_CASE("a write without a reader fails instead of killing") {
  CHECK(forked([] {
          ::signal(SIGPIPE, SIG_DFL);
          const SignalWatch watch{SIGINT};
          int ends[2];
          if (::pipe(ends) != 0) return 1;
          ::close(ends[0]);
          return ::write(ends[1], "x", 1) == -1 && errno == EPIPE ? 0 : 2;
        }) == 0);
}

TEST_CASE("the watch's descriptor is closed on exec and never blocks") {
  CHECK(forked([] {
          const SignalWatch watch{SIGINT};
          if (::fcntl(watch.descriptor(), F_GETFD) != FD_CLOEXEC) return 1;
          return (::fcntl(watch.descriptor(), F_GETFL) & O_NONBLOCK) != 0 ? 0 : 2;
        }) == 0);
}
