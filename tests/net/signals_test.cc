#include "gpl/net/signals.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <csignal>
#include <optional>
#include <thread>
#include <vector>

#include "forked.h"
#include "run_until.h"

using namespace gpl;
using net::Signals;

namespace {

bool is_blocked(int number) {
  sigset_t mask;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return ::sigismember(&mask, number) == 1;
}

}  // namespace

TEST_CASE("signals are told as numbers, and only while somebody listens are they blocked") {
  auto loop = make_loop();
  std::vector<int> caught;
  {
    auto made =
        Signals::create(*loop, {SIGTERM, SIGHUP}, [&](int number) { caught.push_back(number); });
    REQUIRE(made.ok());
    const Signals signals = std::move(made).value();
    CHECK(is_blocked(SIGTERM));
    CHECK(::sigismember(&signals.mask_before(), SIGTERM) == 0);
    ::kill(::getpid(), SIGTERM);
    ::kill(::getpid(), SIGHUP);
    run_until(*loop, [&] { return caught.size() == 2; });
    CHECK(caught == std::vector<int>{SIGHUP, SIGTERM});
  }
  CHECK_FALSE(is_blocked(SIGTERM));
}

TEST_CASE("a signal to a process whose other threads came later reaches the loop") {
  CHECK(forked([] {
          auto loop = make_loop();
          int caught = 0;
          auto signals = Signals::create(*loop, {SIGTERM}, [&](int number) {
            caught = number;
            loop->stop();
          });
          if (!signals.ok()) return 1;
          std::thread other([] { ::kill(::getpid(), SIGTERM); });
          loop->run();
          other.join();
          return caught == SIGTERM ? 0 : 2;
        }) == 0);
}

TEST_CASE("a signal that was ignored at the start stays ignored") {
  CHECK(forked([] {
          ::signal(SIGHUP, SIG_IGN);
          auto loop = make_loop();
          std::vector<int> caught;
          auto signals = Signals::create(*loop, {SIGHUP, SIGINT},
                                         [&](int number) { caught.push_back(number); });
          if (!signals.ok()) return 1;
          ::kill(::getpid(), SIGHUP);
          ::kill(::getpid(), SIGINT);
          run_until(*loop, [&] { return !caught.empty(); });
          run_ready(*loop);
          return caught == std::vector<int>{SIGINT} ? 0 : 2;
        }) == 0);
}

TEST_CASE("who is told of a signal may stop listening") {
  auto loop = make_loop();
  int caught = 0;
  std::optional<Signals> signals;
  auto made = Signals::create(*loop, {SIGUSR1}, [&](int) {
    ++caught;
    signals.reset();
  });
  REQUIRE(made.ok());
  signals = std::move(made).value();
  ::raise(SIGUSR1);
  run_ready(*loop);
  CHECK(caught == 1);
  CHECK_FALSE(is_blocked(SIGUSR1));
}
