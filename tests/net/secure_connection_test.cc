// A Connection over a channel: all as over a plain socket, but sealed.
#include <doctest/doctest.h>
#include <sys/socket.h>

#include <string>
#include <vector>

#include "connected.h"
#include "gpl/net/connection.h"
#include "run_until.h"
#include "secured.h"

using namespace gpl;
using net::CloseCause;
using net::ConnectionOptions;

namespace {

using Words = std::vector<std::string>;

constexpr std::size_t mebibyte = std::size_t{1024} * 1024;

}  // namespace

TEST_CASE("frames of any size cross a channel, in order and both ways") {
  SecureBoth both;
  Words sent;
  for (const std::size_t size : {std::size_t{1}, std::size_t{100}, std::size_t{65'519},
                                 std::size_t{65'536}, 5 * mebibyte, std::size_t{7}}) {
    sent.emplace_back(size, static_cast<char>('a' + sent.size()));
    both.one->send(sent.back());
    both.two->send(sent.back());
  }
  run_until(*both.loop, [&] {
    return both.one.frames.size() == sent.size() && both.two.frames.size() == sent.size();
  });
  CHECK(both.one.frames == sent);
  CHECK(both.two.frames == sent);
  CHECK(both.one->queued_bytes() == 0);
}

TEST_CASE("nothing of a frame is seen on the way") {
  SecureSingle single;
  single.end->send("the secret word");
  run_ready(*single.loop);
  const std::string seen = take(single.pair.two);
  CHECK(seen.find("secret") == std::string::npos);
  std::string plain;
  REQUIRE(single.other.opener.open(seen, plain).ok());
  CHECK(plain == framed("the secret word"));
}

TEST_CASE("all that is sent within a turn goes out as one record") {
  SecureSingle single;
  for (int i = 0; i < 50; ++i) single.end->send("word " + std::to_string(i));
  run_ready(*single.loop);
  const std::string seen = take(single.pair.two);
  REQUIRE(seen.size() > 2);
  const std::size_t first =
      std::size_t{static_cast<unsigned char>(seen[0])} * 256 + static_cast<unsigned char>(seen[1]);
  CHECK(first + 2 == seen.size());
}

TEST_CASE("records that come in pieces of one byte are put together") {
  SecureSingle single;
  std::string bytes = single.sealed(framed("one") + framed("tw"));
  bytes += single.sealed(framed("3"));
  for (const char byte : bytes) {
    put(single.pair.two, std::string(1, byte));
    run_ready(*single.loop);
  }
  CHECK(single.end.frames == Words{"one", "tw", "3"});
}

TEST_CASE("a forged record ends the connection, after what came before it was told") {
  SecureSingle single;
  std::string bytes = single.sealed(framed("true"));
  bytes += single.sealed(framed("false"));
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  put(single.pair.two, bytes);
  run_until(*single.loop, [&] { return single.end.closed(); });
  CHECK(single.end.frames == Words{"true"});
  CHECK(single.end.closings[0].cause == CloseCause::bad_frame);
  CHECK(single.end.closings[0].message.size() > std::string("reading: ").size());
}

TEST_CASE("a forged record behind a pause is told once the frames before it are") {
  SecureSingle single;
  single.end.on_frame = [&](std::string_view payload) {
    if (payload == "one") single.end->pause();
  };
  std::string bytes = single.sealed(framed("one") + framed("two"));
  std::string forged = single.sealed(framed("three"));
  forged[5] = static_cast<char>(forged[5] ^ 1);
  put(single.pair.two, bytes + forged);
  run_ready(*single.loop);
  CHECK(single.end.frames == Words{"one"});
  CHECK_FALSE(single.end.closed());
  single.end->resume();
  run_until(*single.loop, [&] { return single.end.closed(); });
  CHECK(single.end.frames == Words{"one", "two"});
  CHECK(single.end.closings[0].cause == CloseCause::bad_frame);
}

TEST_CASE("plain words on a channel are no record") {
  SecureSingle single;
  put(single.pair.two, "GET / HTTP/1.1\r\nHost: lab1\r\n" + std::string(70'000, 'x'));
  run_until(*single.loop, [&] { return single.end.closed(); });
  CHECK(single.end.frames.empty());
  CHECK(single.end.closings[0].cause == CloseCause::bad_frame);
}

TEST_CASE("a frame over the limit ends the connection over a channel too") {
  SecureSingle single;
  put(single.pair.two, single.sealed(framed(std::string(wire::hello_limit_bytes + 1, 'x'))));
  run_until(*single.loop, [&] { return single.end.closed(); });
  CHECK(single.end.closings[0].cause == CloseCause::bad_frame);
}

TEST_CASE("an end within a record cuts it short, and one between them does not") {
  for (const bool whole : {true, false}) {
    CAPTURE(whole);
    SecureSingle single;
    const std::string second = single.sealed(framed("one"));
    put(single.pair.two, whole ? second : second.substr(0, second.size() - 1));
    single.pair.two.reset();
    run_until(*single.loop, [&] { return single.end.closed(); });
    CHECK(single.end.closings[0].cause == (whole ? CloseCause::peer : CloseCause::cut_short));
  }
}

TEST_CASE("for a peer that does not read, frames wait unsealed but for one call's worth") {
  ConnectionOptions options;
  options.high_water_bytes = mebibyte;
  SecureSingle single(options);
  const int small = 4096;
  ::setsockopt(single.end->descriptor(), SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
  const std::string payload(mebibyte, 'x');
  for (int i = 0; i < 8; ++i) single.end->send(payload);
  run_ready(*single.loop);
  CHECK(single.end.pressures == std::vector<bool>{true});
  // A record adds 18 bytes to 65519: so it shows how many were sealed: 6 of the 17 of one frame.
  const std::size_t plain = 8 * (mebibyte + wire::frame_header_bytes);
  const std::string first = take(single.pair.two);
  CHECK(single.end->queued_bytes() + first.size() < plain + 200);

  std::string got;
  REQUIRE(single.other.opener.open(first, got).ok());
  while (got.size() < plain) {
    got += single.opened();
    run_ready(*single.loop);
  }
  CHECK(got == framed(payload) + framed(payload) + framed(payload) + framed(payload) +
                   framed(payload) + framed(payload) + framed(payload) + framed(payload));
  CHECK(single.end->queued_bytes() == 0);
  CHECK(single.end.pressures == std::vector<bool>{true, false});
}

TEST_CASE("a peer that never reads is too slow over a channel too") {
  ConnectionOptions options;
  options.queue_limit_bytes = 3 * mebibyte;
  SecureSingle single(options);
  for (int i = 0; i < 8; ++i) single.end->send(std::string(mebibyte, 'x'));
  run_until(*single.loop, [&] { return single.end.closed(); });
  CHECK(single.end.closings[0].cause == CloseCause::too_slow);
}

TEST_CASE("close_after_writing gives the peer all that is queued, sealed") {
  SecureBoth both;
  const std::string payload(3 * mebibyte, 'y');
  both.one->send(payload);
  both.one->send("the end");
  both.one->close_after_writing();
  run_until(*both.loop, [&] { return both.two.closed(); });
  CHECK(both.two.frames == Words{payload, "the end"});
  CHECK(both.two.closings[0].cause == CloseCause::peer);
  both.two.connection.reset();
  run_until(*both.loop, [&] { return both.one.closed(); });
  CHECK(both.one.closings[0].cause == CloseCause::here);
}
