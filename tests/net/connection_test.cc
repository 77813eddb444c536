#include "gpl/net/connection.h"

#include <doctest/doctest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "connected.h"
#include "gpl/net/credentials.h"
#include "run_until.h"

using namespace gpl;
using net::CloseCause;
using net::ConnectionOptions;

/// What the calls of sendmsg(2) do in this test program: all go through here.
struct SendCalls {
  int calls = 0;
  std::size_t at_most_bytes = 0;  ///< a call takes no more than this, unless 0
  int fails_with = 0;             ///< errno, unless 0
};
static SendCalls send_calls;

/// Takes the place of the C library's.
extern "C" ssize_t sendmsg(int socket, const msghdr* message, int flags) {
  ++send_calls.calls;
  if (send_calls.fails_with != 0) {
    errno = send_calls.fails_with;
    return -1;
  }
  if (send_calls.at_most_bytes == 0) return ::syscall(SYS_sendmsg, socket, message, flags);
  const iovec& first = message->msg_iov[0];
  const std::size_t size = std::min(first.iov_len, send_calls.at_most_bytes);
  return ::send(socket, first.iov_base, size, flags);
}

namespace {

/// Undoes at its end what a test does to sendmsg.
struct Sending {
  Sending() { send_calls = SendCalls(); }
  ~Sending() { send_calls = SendCalls(); }
};

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("frames sent both ways arrive whole and in order") {
  Both both;
  both.one->send("question");
  both.one->send("another");
  both.two.on_frame = [&](std::string_view payload) {
    both.two->send("answer to " + std::string(payload));
  };
  run_until(*both.loop, [&] { return both.one.frames.size() == 2; });
  CHECK(both.two.frames == Words{"question", "another"});
  CHECK(both.one.frames == Words{"answer to question", "answer to another"});
  CHECK(both.one.closings.empty());
  CHECK(both.one.pressures.empty());
}

TEST_CASE("what is sent within a turn goes out in one call, however many frames it is") {
  const Sending sending;
  Both both;
  for (int i = 0; i < 5000; ++i) both.one->send("frame " + std::to_string(i));
  CHECK(send_calls.calls == 0);
  CHECK(both.one->queued_bytes() > 5000 * 10);
  run_until(*both.loop, [&] { return both.two.frames.size() == 5000; });
  CHECK(send_calls.calls == 1);
  CHECK(both.two.frames.back() == "frame 4999");
  CHECK(both.one->queued_bytes() == 0);
}

TEST_CASE("what end-of-turn tasks send goes out with what was sent before") {
  const Sending sending;
  Both both;
  both.loop->post([&] {
    both.one->send("first");
    both.loop->at_end_of_turn([&] { both.one->send("second"); });
  });
  run_until(*both.loop, [&] { return both.two.frames.size() == 2; });
  CHECK(send_calls.calls == 1);
}

TEST_CASE("a frame that the system takes byte by byte arrives") {
  const Sending sending;
  Both both;
  send_calls.at_most_bytes = 1;
  both.one->send("a slow one");
  both.one->send(std::string(20, 'x'));
  run_until(*both.loop, [&] { return both.two.frames.size() == 2; });
  CHECK(both.two.frames == Words{"a slow one", std::string(20, 'x')});
  CHECK(send_calls.calls == 4 + 10 + 4 + 20);
}

TEST_CASE("the largest frames arrive whole") {
  Both both;
  std::string large(wire::frame_limit_bytes, 'x');
  large.back() = 'y';
  both.one->send(large);
  both.two->send(large);
  run_until(*both.loop, [&] { return both.one.frames.size() + both.two.frames.size() == 2; });
  CHECK(both.one.frames.front() == large);
  CHECK(both.two.frames.front() == large);
}

TEST_CASE("a frame that comes in pieces is told once it is whole") {
  Single single;
  const std::string bytes = framed("in pieces");
  for (const char byte : bytes) {
    CHECK(single.end.frames.empty());
    put(single.pair.two, std::string(1, byte));
    run_ready(*single.loop);
  }
  CHECK(single.end.frames == Words{"in pieces"});
}

TEST_CASE("a frame over the limit, or of no bytes, ends the connection after those before it") {
  for (const std::string& bad : {std::string("\x01\x04\x00\x00", 4), std::string(4, '\0')}) {
    Single single;
    put(single.pair.two, framed("good") + bad + framed("after"));
    run_until(*single.loop, [&] { return single.end.closed(); });
    run_ready(*single.loop);
    CHECK(single.end.frames == Words{"good"});
    REQUIRE(single.end.closings.size() == 1);
    CHECK(single.end.closings[0].cause == CloseCause::bad_frame);
    CHECK(single.end.closings[0].message.find("a frame of") == 0);
    CHECK_FALSE(single.end->open());
    CHECK(single.end->descriptor() == -1);
  }
}

TEST_CASE("a limit that the first frame raises holds for what came along with it") {
  Single single;
  single.end.on_frame = [&](std::string_view payload) {
    if (payload == "hello") single.end->set_frame_limit(5000);
  };
  put(single.pair.two, framed("hello") + framed(std::string(5000, 'x')));
  run_until(*single.loop, [&] { return single.end.frames.size() == 2; });
  CHECK(single.end.frames.back().size() == 5000);
}

TEST_CASE("a write that the system refuses ends the connection with the system's words") {
  const Sending sending;
  Single single;
  send_calls.fails_with = ENOBUFS;
  single.end->send("x");
  run_until(*single.loop, [&] { return single.end.closed(); });
  CHECK(single.end.closings.size() == 1);
  CHECK(single.end.closings[0].cause == CloseCause::failed);
  CHECK(single.end.closings[0].message == "writing: No buffer space available");
}

TEST_CASE("a peer that never reads is noticed, told of as pressure, and ended at the limit") {
  ConnectionOptions options;
  options.queue_limit_bytes = 3'000'000;
  options.high_water_bytes = 1'000'000;
  Single single(options);
  const std::string payload(10'000, 'x');
  std::size_t most = 0;
  for (int i = 0; i < 1000 && !single.end.closed(); ++i) {
    single.end->send(payload);
    most = std::max(most, single.end->queued_bytes());
    run_ready(*single.loop);
  }
  CHECK(most > options.queue_limit_bytes);
  CHECK(most <= options.queue_limit_bytes + 10'004);
  CHECK(single.end.pressures == std::vector<bool>{true});
  REQUIRE(single.end.closings.size() == 1);
  CHECK(single.end.closings[0].cause == CloseCause::too_slow);
  CHECK(single.end->queued_bytes() == 0);
  single.end->send("dropped");
  CHECK(single.end->queued_bytes() == 0);
  CHECK_FALSE(single.loop->run_one(Duration{}));
}

TEST_CASE("more than the limit in one turn is fine while the peer takes it") {
  ConnectionOptions options;
  options.queue_limit_bytes = 100'000;
  Both both(options);
  const std::string payload(50'000, 'x');
  // The kernel's buffer takes several of them without a turn of the loop.
  for (int i = 0; i < 3; ++i) both.one->send(payload);
  run_until(*both.loop, [&] { return both.two.frames.size() == 3; });
  CHECK(both.one.closings.empty());
}

TEST_CASE("pressure goes up and down with what the peer takes") {
  ConnectionOptions options;
  options.high_water_bytes = 500'000;
  options.low_water_bytes = 100'000;
  Both both(options);
  int left = 200;
  const auto fill = [&] {
    while (left > 0 && both.one->queued_bytes() <= options.high_water_bytes) {
      both.one->send(std::string(40'000, 'x'));
      --left;
    }
  };
  both.one.on_pressure = [&](bool high) {
    CHECK((both.one->queued_bytes() > options.high_water_bytes) == high);
    if (!high) {
      CHECK(both.one->queued_bytes() <= options.low_water_bytes);
      fill();
    }
  };
  fill();
  run_until(*both.loop, [&] { return both.two.frames.size() == 200; });
  CHECK(both.one.pressures.size() >= 4);
  for (std::size_t i = 0; i < both.one.pressures.size(); ++i) {
    CHECK(both.one.pressures[i] == (i % 2 == 0));
  }
}

TEST_CASE("a paused connection tells nothing, and goes on where it was") {
  Single single;
  single.end.on_frame = [&](std::string_view payload) {
    if (payload == "two") single.end->pause();
  };
  put(single.pair.two, framed("one") + framed("two") + framed("three") + framed("four"));
  run_ready(*single.loop);
  put(single.pair.two, framed("five"));
  CHECK_FALSE(single.loop->run_one(Duration{}));
  CHECK(single.end.frames == Words{"one", "two"});
  single.end->resume();
  CHECK(single.end.frames.size() == 2);
  run_until(*single.loop, [&] { return single.end.frames.size() == 5; });
  CHECK(single.end.frames == Words{"one", "two", "three", "four", "five"});
}

TEST_CASE("a paused connection that is resumed and paused again in a frame tells one at a time") {
  Single single;
  single.end.on_frame = [&](std::string_view) {
    single.end->pause();
    single.end->resume();
    single.end->pause();
  };
  put(single.pair.two, framed("one") + framed("two") + framed("three"));
  for (std::size_t frames = 1; frames <= 3; ++frames) {
    run_ready(*single.loop);
    CHECK(single.end.frames.size() == frames);
    single.end->resume();
  }
}

TEST_CASE("a paused reader holds the peer back, whose queue grows no further than its limit") {
  Both both;
  both.two->pause();
  int sent = 0;
  both.one.on_pressure = [&](bool high) { CHECK(high); };
  while (both.one.pressures.empty()) {
    both.one->send(std::string(60'000, 'x'));
    ++sent;
    both.loop->run_one(Duration{});
  }
  CHECK(both.two.frames.empty());
  both.one.on_pressure = [](bool) {};
  both.two->resume();
  run_until(*both.loop, [&] { return both.two.frames.size() == static_cast<std::size_t>(sent); });
}

TEST_CASE("a peer that is gone costs a paused connection no turns, and is told on resuming") {
  Single single;
  put(single.pair.two, framed("one") + framed("two"));
  single.end.on_frame = [&](std::string_view) { single.end->pause(); };
  run_ready(*single.loop);
  single.pair.two.reset();
  CHECK_FALSE(single.loop->run_one(Duration{}));
  single.end.on_frame = [](std::string_view) {};
  single.end->resume();
  run_until(*single.loop, [&] { return single.end.closed(); });
  CHECK(single.end.frames == Words{"one", "two"});
}

TEST_CASE("a full queue of one connection does not keep the loop from serving another") {
  ConnectionOptions options;
  options.queue_limit_bytes = 5'000'000;
  Single stuck(options);
  stuck.end->send(std::string(4'000'000, 'x'));
  Noted one;
  Noted two;
  SocketPair pair;
  one.adopt(*stuck.loop, std::move(pair.one));
  two.adopt(*stuck.loop, std::move(pair.two));
  one->send("through");
  run_until(*stuck.loop, [&] { return two.frames.size() == 1; });
  CHECK(stuck.end->queued_bytes() > 3'000'000);
  CHECK_FALSE(stuck.loop->run_one(Duration{}));
}

TEST_CASE("a Unix socket tells who is at its other end") {
  const Single single;
  const auto who = net::peer_credentials(single.end.connection->descriptor());
  REQUIRE(who.ok());
  CHECK(who.value() == net::Credentials{::getpid(), ::getuid(), ::getgid()});
}
