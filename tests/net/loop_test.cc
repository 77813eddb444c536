#include "gpl/net/loop.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "gpl/posix/fd.h"
#include "run_until.h"
#include "temporary_folder.h"

using namespace gpl;
using net::Interest;
using net::Ready;
using net::Timer;
using net::Watch;

namespace {

struct Ends {
  posix::Fd here;
  posix::Fd there;
};

Ends socket_pair() {
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
  return {posix::Fd(ends[0]), posix::Fd(ends[1])};
}

void put(const posix::Fd& fd) { REQUIRE(::write(fd.get(), "x", 1) == 1); }
void take(const posix::Fd& fd) {
  char byte;
  REQUIRE(::read(fd.get(), &byte, 1) == 1);
}

Watch watch(net::Loop& loop, const posix::Fd& fd, net::Loop::Task task) {
  auto made = loop.watch(fd.get(), std::move(task));
  REQUIRE(made.ok());
  return std::move(made).value();
}

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("posted tasks run in order, and what they post runs in the next turn") {
  auto loop = make_loop();
  Words ran;
  loop->post([&] {
    ran.push_back("first");
    loop->post([&] { ran.push_back("third"); });
  });
  loop->post([&] { ran.push_back("second"); });
  CHECK(loop->run_one(failure_stop));
  CHECK(ran == Words{"first", "second"});
  CHECK(loop->run_one(failure_stop));
  CHECK(ran == Words{"first", "second", "third"});
  CHECK_FALSE(loop->run_one(Duration{}));
}

TEST_CASE("a task posted by another thread wakes the loop up") {
  auto loop = make_loop();
  constexpr int posts = 2000;
  int ran = 0;
  std::thread other([&] {
    for (int i = 0; i < posts; ++i) loop->post([&] { ++ran; });
  });
  run_until(*loop, [&] { return ran == posts; });
  other.join();
}

TEST_CASE("posted tasks of two threads that wait for each answer never wait in vain") {
  auto loop = make_loop();
  auto other = make_loop();
  constexpr int rounds = 2000;
  int left = rounds;
  std::function<void()> ask = [&] {
    other->post([&] { loop->post([&] { --left > 0 ? ask() : other->stop(); }); });
  };
  ask();
  std::thread thread([&] { other->run(); });
  run_until(*loop, [&] { return left == 0; });
  thread.join();
}

TEST_CASE("stop ends the run after its turn, also from another thread") {
  auto loop = make_loop();
  Words ran;
  loop->post([&] {
    loop->stop();
    ran.push_back("posted");
    loop->at_end_of_turn([&] { ran.push_back("end of turn"); });
  });
  loop->run();
  CHECK(ran == Words{"posted", "end of turn"});

  std::thread other([&] { loop->stop(); });
  loop->run();
  other.join();
}

TEST_CASE("timers run in the order of their times, not of their making") {
  auto loop = make_loop();
  Words ran;
  const Timer never = loop->after(seconds(3600), [&] { ran.push_back("hour"); });
  // The loop has waited for that one before it hears of the others.
  run_ready(*loop);
  const Timer later = loop->after(milliseconds(30), [&] { ran.push_back("later"); });
  const Timer sooner = loop->after(milliseconds(2), [&] { ran.push_back("sooner"); });
  CHECK(later.pending());
  run_until(*loop, [&] { return ran.size() == 2; });
  CHECK(ran == Words{"sooner", "later"});
  CHECK_FALSE(later.pending());
  CHECK(never.pending());
}

TEST_CASE("a timer never runs before its delay has passed") {
  auto loop = make_loop();
  for (const int delay_ms : {0, 1, 3}) {
    const Moment start = loop->now();
    bool ran = false;
    const Timer timer = loop->after(milliseconds(delay_ms), [&] { ran = true; });
    run_until(*loop, [&] { return ran; });
    // The clock is read in whole milliseconds: rounded down before, so that one more shows.
    CHECK(loop->now() - start > milliseconds(delay_ms));
  }
}

TEST_CASE("a time that never comes is waited for like any other") {
  auto loop = make_loop();
  const Timer never = loop->at(Moment{std::numeric_limits<std::int64_t>::max()}, [] {});
  CHECK_FALSE(loop->run_one(Duration{}));
  CHECK(never.pending());
}

TEST_CASE("a timer that was set for later than the next one is waited for after it") {
  auto loop = make_loop();
  Words ran;
  Timer first = loop->after(milliseconds(1), [&] { ran.push_back("first"); });
  first.cancel();
  const Timer second = loop->after(milliseconds(20), [&] { ran.push_back("second"); });
  run_until(*loop, [&] { return ran.size() == 1; });
  const Timer third = loop->after(milliseconds(5), [&] { ran.push_back("third"); });
  run_until(*loop, [&] { return ran.size() == 2; });
  CHECK(ran == Words{"second", "third"});
}

TEST_CASE(
    "a dropped or cancelled timer does not run, even when it is due with the one that did it") {
  auto loop = make_loop();
  int ran = 0;
  Timer victim;
  Timer assigned = loop->at(Moment{}, [&] { ran += 100; });
  const Timer killer = loop->at(Moment{}, [&] {
    ++ran;
    victim.cancel();
    CHECK_FALSE(victim.pending());
  });
  victim = loop->at(Moment{}, [&] { ran += 100; });
  assigned = Timer();
  {
    const Timer scoped = loop->at(Moment{}, [&] { ran += 100; });
  }
  run_ready(*loop);
  CHECK(ran == 1);
}

TEST_CASE("a timer may drop itself, and always setting another does not hold the turn") {
  auto loop = make_loop();
  int ran = 0;
  std::optional<Timer> timer;
  std::function<void()> again = [&] {
    ++ran;
    timer.reset();
    timer = loop->at(Moment{}, again);
  };
  again();
  CHECK(loop->run_one(failure_stop));
  CHECK(ran == 2);
  CHECK(loop->run_one(failure_stop));
  CHECK(ran == 3);
}

TEST_CASE("a descriptor is told of once a turn while there is something to read") {
  auto loop = make_loop();
  const Ends ends = socket_pair();
  int told = 0;
  const Watch watched = watch(*loop, ends.here, [&] { ++told; });
  CHECK_FALSE(loop->run_one(Duration{}));
  put(ends.there);
  CHECK(loop->run_one(failure_stop));
  CHECK(loop->run_one(failure_stop));
  CHECK(told == 2);
  take(ends.here);
  CHECK_FALSE(loop->run_one(Duration{}));
  CHECK(told == 2);
}

TEST_CASE("a descriptor is told of for what is wanted alone") {
  auto loop = make_loop();
  const Ends ends = socket_pair();
  std::vector<std::pair<bool, bool>> told;
  auto made = loop->watch(ends.here.get(), Interest::write,
                          [&](Ready ready) { told.emplace_back(ready.read, ready.write); });
  REQUIRE(made.ok());
  Watch watched = std::move(made).value();
  put(ends.there);
  CHECK(loop->run_one(failure_stop));
  REQUIRE(watched.want(Interest::read).ok());
  CHECK(loop->run_one(failure_stop));
  REQUIRE(watched.want(Interest::read_write).ok());
  CHECK(loop->run_one(failure_stop));
  REQUIRE(watched.want(Interest::none).ok());
  CHECK_FALSE(loop->run_one(Duration{}));
  CHECK(told == std::vector<std::pair<bool, bool>>{{false, true}, {true, false}, {true, true}});
}

TEST_CASE("a peer that is gone is told as ready, but not while nothing is wanted") {
  auto loop = make_loop();
  Ends ends = socket_pair();
  int told = 0;
  Watch watched = watch(*loop, ends.here, [&] { ++told; });
  REQUIRE(watched.want(Interest::none).ok());
  ends.there.reset();
  CHECK_FALSE(loop->run_one(Duration{}));
  CHECK(told == 0);
  REQUIRE(watched.want(Interest::read).ok());
  CHECK(loop->run_one(failure_stop));
  CHECK(told == 1);
}

TEST_CASE("of two that are ready together the first may drop the second and itself") {
  auto loop = make_loop();
  const Ends one = socket_pair();
  const Ends two = socket_pair();
  int told = 0;
  std::optional<Watch> first;
  std::optional<Watch> second;
  const auto drop_both = [&] {
    ++told;
    first.reset();
    second.reset();
  };
  first = watch(*loop, one.here, drop_both);
  second = watch(*loop, two.here, drop_both);
  put(one.there);
  put(two.there);
  run_ready(*loop);
  CHECK(told == 1);
}

TEST_CASE("what one that is ready no longer wants is not told") {
  auto loop = make_loop();
  const Ends one = socket_pair();
  const Ends two = socket_pair();
  int told = 0;
  Watch first;
  Watch second;
  const auto stop_both = [&] {
    ++told;
    REQUIRE(first.want(Interest::none).ok());
    REQUIRE(second.want(Interest::none).ok());
  };
  first = watch(*loop, one.here, stop_both);
  second = watch(*loop, two.here, stop_both);
  put(one.there);
  put(two.there);
  run_ready(*loop);
  CHECK(told == 1);
}

TEST_CASE("a dropped watch is told of nothing through a copy of its descriptor") {
  auto loop = make_loop();
  Ends ends = socket_pair();
  int told = 0;
  std::optional<Watch> watched = watch(*loop, ends.here, [&] { ++told; });
  // As a forked process has one.
  const posix::Fd copy(::fcntl(ends.here.get(), F_DUPFD_CLOEXEC, 0));
  watched.reset();
  ends.here.reset();
  put(ends.there);
  CHECK_FALSE(loop->run_one(Duration{}));
  CHECK(told == 0);
}

TEST_CASE("a file on disk cannot be waited for, and that is an error") {
  auto loop = make_loop();
  const TemporaryFolder folder;
  const posix::Fd file(::open(folder.write("file", "x").c_str(), O_RDONLY | O_CLOEXEC));
  const auto watched = loop->watch(file.get(), [] {});
  REQUIRE_FALSE(watched.ok());
  CHECK(watched.error().message.find("cannot wait for descriptor") == 0);
}

TEST_CASE("the end of a turn comes once all that was ready has been handled") {
  auto loop = make_loop();
  const Ends one = socket_pair();
  const Ends two = socket_pair();
  Words ran;
  const auto both = [&](const char* name) {
    return [&ran, &loop, name] {
      ran.push_back(name);
      loop->at_end_of_turn([&ran, &loop] {
        ran.push_back("end");
        loop->at_end_of_turn([&ran] { ran.push_back("end of end"); });
      });
    };
  };
  const Watch first = watch(*loop, one.here, both("watch"));
  const Watch second = watch(*loop, two.here, both("watch"));
  const Timer timer = loop->at(Moment{}, both("timer"));
  loop->post(both("posted"));
  put(one.there);
  put(two.there);
  CHECK(loop->run_one(failure_stop));
  CHECK(ran == Words{"timer", "watch", "watch", "posted", "end", "end", "end", "end", "end of end",
                     "end of end", "end of end", "end of end"});
}

TEST_CASE("what is put off outside of a turn runs in the next, which does not wait") {
  auto loop = make_loop();
  bool ran = false;
  loop->at_end_of_turn([&] { ran = true; });
  CHECK(loop->run_one(failure_stop));
  CHECK(ran);
}

TEST_CASE("a loop that goes takes its tasks along, and its timers and watches may outlive it") {
  auto loop = make_loop();
  const Ends ends = socket_pair();
  const auto owned = std::make_shared<int>(1);
  Timer timer = loop->after(seconds(1), [owned] {});
  Watch watched = watch(*loop, ends.here, [owned] {});
  loop->post([owned] {});
  loop->at_end_of_turn([owned] {});
  // One whose task owns what refers to the loop.
  auto inner = std::make_shared<Timer>(loop->after(seconds(1), [owned] {}));
  const Timer outer = loop->after(seconds(1), [inner = std::move(inner)] {});
  CHECK(owned.use_count() == 6);
  loop.reset();
  CHECK(owned.use_count() == 1);
  CHECK_FALSE(timer.pending());
  timer.cancel();
  CHECK(watched.want(Interest::write).ok());
}

TEST_CASE("all of a loop's descriptors are closed on exec") {
  const auto open_ones = [] {
    std::vector<int> flags;
    for (int fd = 0; fd < 100; ++fd) flags.push_back(::fcntl(fd, F_GETFD));
    return flags;
  };
  const std::vector<int> before = open_ones();
  auto loop = make_loop();
  const std::vector<int> after = open_ones();
  int made = 0;
  for (std::size_t fd = 0; fd < before.size(); ++fd) {
    if (before[fd] == after[fd]) continue;
    ++made;
    CHECK(after[fd] == FD_CLOEXEC);
  }
  CHECK(made == 3);
}
