// Who gets in, who does not, and what a stranger can make a peer do.
#include <doctest/doctest.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "connected.h"
#include "gpl/net/secure_socket.h"
#include "run_until.h"
#include "secured.h"

using namespace gpl;
using net::Gate;
using net::GateLimits;
using net::PeerAddress;

namespace {

const PeerAddress somewhere{"10.0.0.9", 40000};

/// The initiator, driven by hand over one end of a socket pair.
class Caller {
 public:
  Caller(net::Loop& loop, auth::Call made)
      : loop_(loop), handshake_(auth::Handshake::initiate(made)) {}

  posix::Fd their_end() { return std::move(pair_.two); }
  /// All its steps; `piece` bytes at a time.
  Status greet(std::size_t piece = 4096) {
    for (;;) {
      const std::string out = handshake_.output();
      for (std::size_t at = 0; at < out.size(); at += piece) {
        put(pair_.one, out.substr(at, piece));
        run_ready(loop_);
      }
      run_ready(loop_);
      if (handshake_.wanted() == 0) return success();
      std::string bytes(handshake_.wanted(), '\0');
      const ssize_t count = ::recv(pair_.one.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
      if (count != static_cast<ssize_t>(bytes.size()))
        return Error{Code::not_found, "closed or silent"};
      if (Status taken = handshake_.take(bytes); !taken.ok()) return taken;
    }
  }
  auth::Handshake& handshake() { return handshake_; }
  posix::Fd& socket() { return pair_.one; }

 private:
  net::Loop& loop_;
  SocketPair pair_;
  auth::Handshake handshake_;
};

/// A stranger that has connected and said `bytes`. Its own end.
posix::Fd stranger(Gated& gated, const std::string& bytes, const PeerAddress& from = somewhere) {
  SocketPair pair;
  gated->take(std::move(pair.two), from);
  if (!bytes.empty()) put(pair.one, bytes);
  return std::move(pair.one);
}

bool closed(const posix::Fd& socket) {
  char byte;
  return ::recv(socket.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0 || (errno == ECONNRESET);
}

}  // namespace

TEST_CASE("who has the key gets in, and both ends are told the same") {
  const auto loop = make_loop();
  const auth::Key key = auth::Key::draw();
  Gated gated(*loop, key);
  Caller caller(*loop, call(key, auth::Purpose::link));
  gated->take(caller.their_end(), somewhere);
  CHECK(gated->handshakes() == 1);
  REQUIRE(caller.greet().ok());
  REQUIRE(gated.entered.size() == 1);
  CHECK(gated->handshakes() == 0);
  auth::Established here = caller.handshake().established();
  auth::Established& there = gated.entered[0].session;
  CHECK(there.role == auth::Role::peer);
  CHECK(there.purpose == auth::Purpose::link);
  std::string sealed;
  here.channel.sealer.seal("hello", sealed);
  std::string plain;
  REQUIRE(there.channel.opener.open(sealed, plain).ok());
  CHECK(plain == "hello");
  CHECK(gated.notes.empty());
}

TEST_CASE("what follows the handshake at once is left in the socket for the channel") {
  const auto loop = make_loop();
  const auth::Key key = auth::Key::draw();
  Gated gated(*loop, key);
  Caller caller(*loop, call(key));
  gated->take(caller.their_end(), somewhere);
  // The last message and the first record, in one piece.
  while (true) {
    std::string out = caller.handshake().output();
    if (caller.handshake().complete()) {
      caller.handshake().established().channel.sealer.seal(framed("first"), out);
      put(caller.socket(), out);
      break;
    }
    put(caller.socket(), out);
    run_ready(*loop);
    std::string bytes(caller.handshake().wanted(), '\0');
    REQUIRE(::recv(caller.socket().get(), bytes.data(), bytes.size(), MSG_DONTWAIT) ==
            static_cast<ssize_t>(bytes.size()));
    REQUIRE(caller.handshake().take(bytes).ok());
  }
  run_until(*loop, [&] { return gated.entered.size() == 1; });
  Noted end;
  end.adopt(*loop, std::move(gated.entered[0]));
  run_until(*loop, [&] { return end.frames.size() == 1; });
  CHECK(end.frames[0] == "first");
}

TEST_CASE("a handshake of single bytes is as good as any") {
  const auto loop = make_loop();
  const auth::Key key = auth::Key::draw();
  Gated gated(*loop, key);
  Caller caller(*loop, call(key));
  gated->take(caller.their_end(), somewhere);
  REQUIRE(caller.greet(1).ok());
  CHECK(gated.entered.size() == 1);
}

TEST_CASE("another key does not get in, is told so, and is noted") {
  const auto loop = make_loop();
  Gated gated(*loop, auth::Key::draw());
  Caller caller(*loop, call(auth::Key::draw()));
  gated->take(caller.their_end(), somewhere);
  const Status greeted = caller.greet();
  REQUIRE_FALSE(greeted.ok());
  CHECK(greeted.error().code == Code::denied);
  run_ready(*loop);
  CHECK(gated.entered.empty());
  CHECK(gated->handshakes() == 0);
  REQUIRE(gated.notes.size() == 1);
  CHECK(gated.notes[0].starts_with("refused a connection from 10.0.0.9: "));
}

TEST_CASE("what is no gpl is closed") {
  const auto loop = make_loop();
  Gated gated(*loop, auth::Key::draw());
  const std::vector<std::string> words = {
      "GET / HTTP/1.1\r\nHost: lab1\r\n\r\n" + std::string(600, 'x'), std::string(600, '\xff'),
      std::string(600, '\0'), std::string(100'000, 'g')};
  std::vector<posix::Fd> ends;
  for (const std::string& word : words) ends.push_back(stranger(gated, word));
  run_until(*loop, [&] { return gated->handshakes() == 0; });
  CHECK(gated.entered.empty());
  for (const posix::Fd& end : ends) {
    (void)take(end);  // a hello, at most
    CHECK(closed(end));
  }
}

TEST_CASE("who closes in any state is forgotten") {
  const auto loop = make_loop();
  const auth::Key key = auth::Key::draw();
  for (const int steps : {0, 1, 2}) {
    CAPTURE(steps);
    Gated gated(*loop, key);
    Caller caller(*loop, call(key));
    gated->take(caller.their_end(), somewhere);
    if (steps > 0) {
      const std::string out = caller.handshake().output();
      put(caller.socket(), steps == 1 ? out.substr(0, out.size() - 1) : out);
    }
    run_ready(*loop);
    CHECK(gated->handshakes() == 1);
    caller.socket().reset();
    run_until(*loop, [&] { return gated->handshakes() == 0; });
    CHECK(gated.entered.empty());
  }
}

TEST_CASE("who says nothing, or too little, is closed in time") {
  const auto loop = make_loop();
  Gated gated(*loop, auth::Key::draw(), {256, 64, milliseconds(30)});
  const posix::Fd silent = stranger(gated, "");
  const posix::Fd slow = stranger(gated, "g");
  run_until(*loop, [&] { return gated->handshakes() == 0; });
  CHECK(closed(silent));
  CHECK(closed(slow));
  REQUIRE(gated.notes.size() == 1);
  CHECK(gated.notes[0].find("no handshake within") != std::string::npos);
}

TEST_CASE("a thousand strangers at once do not keep a friend out") {
  const auto loop = make_loop();
  const auth::Key key = auth::Key::draw();
  Gated gated(*loop, key);
  std::vector<posix::Fd> ends;
  for (int i = 0; i < 500; ++i) ends.push_back(stranger(gated, "", {"10.0.0.9", 1}));
  CHECK(gated->handshakes() == GateLimits().handshakes_a_host);
  for (int i = 0; i < 500; ++i) {
    ends.push_back(stranger(gated, "gpl", {"10.0.1." + std::to_string(i % 250), 1}));
  }
  CHECK(gated->handshakes() == GateLimits().handshakes);
  CHECK(closed(ends.front()));
  CHECK_FALSE(closed(ends.back()));
  Caller friendly(*loop, call(key));
  gated->take(friendly.their_end(), {"10.0.0.9", 2});
  CHECK(gated->handshakes() == GateLimits().handshakes);
  REQUIRE(friendly.greet().ok());
  CHECK(gated.entered.size() == 1);
  CHECK(gated.notes.size() == 1);
}

TEST_CASE("of one host the oldest goes first, and those of others stay") {
  const auto loop = make_loop();
  Gated gated(*loop, auth::Key::draw(), {10, 2, seconds(5)});
  const posix::Fd other = stranger(gated, "", {"10.0.0.1", 1});
  const posix::Fd first = stranger(gated, "", {"10.0.0.2", 1});
  const posix::Fd second = stranger(gated, "", {"10.0.0.2", 2});
  const posix::Fd third = stranger(gated, "", {"10.0.0.2", 3});
  CHECK(closed(first));
  CHECK_FALSE(closed(second));
  CHECK_FALSE(closed(third));
  CHECK_FALSE(closed(other));
}

TEST_CASE("dropping the gate, also from within its callback, closes who is in it") {
  const auto loop = make_loop();
  const auth::Key key = auth::Key::draw();
  std::optional<Gate> gate;
  bool entered = false;
  gate.emplace(*loop, answering(key), GateLimits{},
               Gate::Told{[&](net::SecureSocket) {
                            entered = true;
                            gate.reset();
                          },
                          {}});
  Caller caller(*loop, call(key));
  gate->take(caller.their_end(), somewhere);
  SocketPair silent;
  gate->take(std::move(silent.two), somewhere);
  REQUIRE(caller.greet().ok());
  CHECK(entered);
  CHECK(closed(silent.one));
}
