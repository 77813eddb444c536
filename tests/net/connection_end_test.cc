// How a Connection ends, and what it tells of that.
#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "connected.h"
#include "gpl/net/connection.h"
#include "run_until.h"

using namespace gpl;
using net::CloseCause;
using net::ConnectionOptions;

namespace {

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("a peer that closes between frames has closed, after all it sent was told") {
  Single single;
  put(single.pair.two, framed("last words"));
  single.pair.two.reset();
  run_until(*single.loop, [&] { return single.end.closed(); });
  run_ready(*single.loop);
  CHECK(single.end.frames == Words{"last words"});
  REQUIRE(single.end.closings.size() == 1);
  CHECK(single.end.closings[0].cause == CloseCause::peer);
}

TEST_CASE("a peer that closes in the middle of a frame has cut it short") {
  Single single;
  put(single.pair.two, framed("whole") + framed("not whole").substr(0, 7));
  single.pair.two.reset();
  run_until(*single.loop, [&] { return single.end.closed(); });
  CHECK(single.end.frames == Words{"whole"});
  CHECK(single.end.closings[0].cause == CloseCause::cut_short);
}

TEST_CASE("what the peer said before it closed is told, also when writing to it fails") {
  Single single;
  put(single.pair.two, framed("refused: too old"));
  single.pair.two.reset();
  // The write comes before the loop has seen that there is something to read.
  single.end->send("too late");
  run_until(*single.loop, [&] { return single.end.closed(); });
  run_ready(*single.loop);
  CHECK(single.end.frames == Words{"refused: too old"});
  REQUIRE(single.end.closings.size() == 1);
  CHECK(single.end.closings[0].cause == CloseCause::peer);
}

TEST_CASE("a paused connection whose writing fails costs no turns, and is told on resuming") {
  Single single;
  put(single.pair.two, framed("one") + framed("two"));
  single.end.on_frame = [&](std::string_view payload) {
    if (payload == "one") single.end->pause();
  };
  single.end->send(std::string(3'000'000, 'x'));
  run_ready(*single.loop);
  CHECK(single.end->queued_bytes() > 0);
  single.pair.two.reset();
  run_ready(*single.loop);
  CHECK_FALSE(single.end->open());
  CHECK(single.end->queued_bytes() == 0);
  CHECK(single.end.frames == Words{"one"});
  CHECK_FALSE(single.end.closed());
  single.end->resume();
  run_until(*single.loop, [&] { return single.end.closed(); });
  CHECK(single.end.frames == Words{"one", "two"});
  CHECK(single.end.closings.size() == 1);
}

TEST_CASE("closing at once drops what is queued, and is told at the end of the turn") {
  Both both;
  both.one->send("never");
  both.one->close();
  both.one->close();
  CHECK(both.one.closings.empty());
  CHECK(both.one->descriptor() == -1);
  run_until(*both.loop, [&] { return both.two.closed(); });
  REQUIRE(both.one.closings.size() == 1);
  CHECK(both.one.closings[0].cause == CloseCause::here);
  CHECK(both.two.frames.empty());
  CHECK(both.two.closings[0].cause == CloseCause::peer);
}

TEST_CASE("closing after writing lets the peer have it all, and ends when the peer does") {
  Both both;
  const std::string large(3'000'000, 'x');
  both.one->send(large);
  both.one->send("bye");
  both.one->close_after_writing();
  CHECK_FALSE(both.one->open());
  both.one->send("never");
  // The peer still speaks: that must not reset what is on its way to it.
  both.two->send("more");
  run_until(*both.loop, [&] { return both.one.closed() && both.two.closed(); });
  CHECK(both.two.frames == Words{large, "bye"});
  CHECK(both.one.frames.empty());
  CHECK(both.one.closings[0].cause == CloseCause::here);
  CHECK(both.two.closings[0].cause == CloseCause::peer);
}

TEST_CASE("a peer that neither takes the rest nor closes is left after the farewell") {
  ConnectionOptions options;
  options.farewell = milliseconds(20);
  Single slow(options);
  slow.end->send(std::string(3'000'000, 'x'));
  slow.end->close_after_writing();
  run_until(*slow.loop, [&] { return slow.end.closed(); });
  CHECK(slow.end.closings[0].cause == CloseCause::too_slow);

  Single open_one(options);
  open_one.end->send("bye");
  open_one.end->close_after_writing();
  run_until(*open_one.loop, [&] { return open_one.end.closed(); });
  CHECK(open_one.end.closings[0].cause == CloseCause::here);
  CHECK(take(open_one.pair.two) == framed("bye"));
}

TEST_CASE("a paused connection that closes after writing still ends with the peer") {
  Single single;
  put(single.pair.two, framed("one") + framed("two"));
  single.end.on_frame = [&](std::string_view) { single.end->pause(); };
  run_ready(*single.loop);
  single.end->close_after_writing();
  single.pair.two.reset();
  run_until(*single.loop, [&] { return single.end.closed(); });
  CHECK(single.end.frames == Words{"one"});
}

TEST_CASE("a dropped connection tells nothing, whatever was under way") {
  Both both;
  both.two->send("for one");
  both.one->send(std::string(3'000'000, 'x'));
  both.loop->run_one(Duration{});
  const std::size_t told = both.one.frames.size();
  both.one->send("queued");
  both.one->close();
  both.one.connection.reset();
  run_until(*both.loop, [&] { return both.two.closed(); });
  CHECK(both.one.frames.size() == told);
  CHECK(both.one.closings.empty());
}

TEST_CASE("a connection may be dropped from any of its callbacks") {
  SUBCASE("a frame, with another behind it") {
    Single single;
    single.end.on_frame = [&](std::string_view payload) {
      single.end.connection.reset();
      CHECK(payload == "one");
    };
    put(single.pair.two, framed("one") + framed("two"));
    run_ready(*single.loop);
    CHECK(single.end.frames == Words{"one"});
    CHECK(single.end.closings.empty());
  }
  SUBCASE("the end") {
    Single single;
    single.end.on_closed = [&] { single.end.connection.reset(); };
    single.pair.two.reset();
    run_until(*single.loop, [&] { return single.end.closed(); });
    run_ready(*single.loop);
    CHECK(single.end.closings.size() == 1);
  }
  SUBCASE("pressure") {
    Single single;
    single.end.on_pressure = [&](bool) { single.end.connection.reset(); };
    for (int i = 0; i < 3; ++i) single.end->send(std::string(1'000'000, 'x'));
    run_ready(*single.loop);
    CHECK(single.end.pressures == std::vector<bool>{true});
    CHECK(single.end.closings.empty());
  }
}

TEST_CASE("a callback may put another connection in the place of its own") {
  Single single;
  SocketPair next;
  single.end.on_frame = [&](std::string_view payload) {
    if (payload == "one") single.end.adopt(*single.loop, std::move(next.one));
  };
  put(single.pair.two, framed("one") + framed("two"));
  put(next.two, framed("three"));
  run_ready(*single.loop);
  CHECK(single.end.frames == Words{"one", "three"});
}

TEST_CASE("connections may outlive their loop, and are dead then") {
  Both both;
  both.one->send("queued");
  both.loop.reset();
  both.one->send("more");
  both.one->pause();
  both.one->resume();
  both.two->close_after_writing();
  both.one->close();
  CHECK(both.one.closings.empty());
}
