// Dialing a peer and shaking hands with it, over loopback.
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "connected.h"
#include "gpl/net/listener.h"
#include "gpl/net/secure_socket.h"
#include "run_until.h"
#include "secured.h"
#include "serving.h"

using namespace gpl;
using net::PeerAddress;
using net::SecureDialer;
using net::SecureSocket;

namespace {

/// A TCP listener whose sockets go through a gate.
struct Serving {
  Gated gated;
  net::Listener listener;

  Serving(net::Loop& loop, const auth::Key& key)
      : gated(loop, key), listener(listening(loop, gated)) {}

  static net::Listener listening(net::Loop& loop, Gated& gated) {
    net::Listener::Told told;
    told.accepted = [&gated](posix::Fd socket, const PeerAddress& from) {
      gated->take(std::move(socket), from);
    };
    auto made = net::Listener::listen_tcp(loop, {"127.0.0.1", 0}, std::move(told));
    REQUIRE(made.ok());
    return std::move(made).value();
  }
};

/// Dials and notes what comes of it.
struct Dialing {
  std::optional<Result<SecureSocket>> end;
  std::optional<SecureDialer> dialer;

  Dialing(net::Loop& loop, const PeerAddress& address, auth::Call made,
          Duration at_most = failure_stop) {
    dialer.emplace(loop, address, std::move(made), at_most, [this](Result<SecureSocket> result) {
      CHECK_FALSE(end.has_value());
      end.emplace(std::move(result));
    });
    CHECK_FALSE(end.has_value());
  }
  Dialing(const Dialing&) = delete;
  Dialing& operator=(const Dialing&) = delete;
};

}  // namespace

TEST_CASE("a dialed peer and its gate have a channel, and know each other's addresses") {
  const auto loop = make_loop();
  const auth::Key key = auth::Key::draw();
  Serving serving(*loop, key);
  Dialing dialing(*loop, serving.listener.address(), call(key));
  run_until(*loop, [&] { return dialing.end && !serving.gated.entered.empty(); });
  REQUIRE(dialing.end->ok());
  SecureSocket& here = dialing.end->value();
  SecureSocket& there = serving.gated.entered[0];
  CHECK(here.remote == serving.listener.address());
  CHECK(here.local == there.remote);
  CHECK(there.local == serving.listener.address());

  Noted one;
  Noted two;
  one.adopt(*loop, std::move(here));
  two.adopt(*loop, std::move(there));
  one->send("ping");
  run_until(*loop, [&] { return two.frames.size() == 1; });
  two->send("pong");
  run_until(*loop, [&] { return one.frames.size() == 1; });
  CHECK(two.frames[0] == "ping");
  CHECK(one.frames[0] == "pong");
}

TEST_CASE("a peer with another key is denied, with its address") {
  const auto loop = make_loop();
  Serving serving(*loop, auth::Key::draw());
  Dialing dialing(*loop, serving.listener.address(), call(auth::Key::draw()));
  run_until(*loop, [&] { return dialing.end.has_value(); });
  REQUIRE_FALSE(dialing.end->ok());
  CHECK(dialing.end->error().code == Code::denied);
  CHECK(dialing.end->error().message.starts_with(net::to_text(serving.listener.address()) + ": "));
}

TEST_CASE("where nobody listens the dial ends at once") {
  const auto loop = make_loop();
  const auth::Key key = auth::Key::draw();
  std::optional<Serving> serving;
  serving.emplace(*loop, key);
  const PeerAddress gone = serving->listener.address();
  serving.reset();
  Dialing dialing(*loop, gone, call(key));
  run_until(*loop, [&] { return dialing.end.has_value(); });
  REQUIRE_FALSE(dialing.end->ok());
  CHECK(dialing.end->error().code == Code::not_found);
}

TEST_CASE("who takes connections and says nothing is given up in time") {
  const auto loop = make_loop();
  Served served;
  auto listener = net::Listener::listen_tcp(*loop, {"127.0.0.1", 0}, served.told());
  REQUIRE(listener.ok());
  Dialing dialing(*loop, listener.value().address(), call(auth::Key::draw()), milliseconds(50));
  run_until(*loop, [&] { return dialing.end.has_value(); });
  REQUIRE_FALSE(dialing.end->ok());
  CHECK(dialing.end->error().code == Code::not_found);
  CHECK(dialing.end->error().message.find("says nothing") != std::string::npos);
}

TEST_CASE("another program's words are no gpl, and its hanging up is told") {
  const std::vector<std::pair<std::string, Code>> answers = {
      {"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n" + std::string(600, 'x'), Code::invalid},
      {std::string(600, '\xff'), Code::invalid},
      {"", Code::not_found}};
  for (const auto& [words, code] : answers) {
    CAPTURE(words);
    const auto loop = make_loop();
    Served served;
    auto listener = net::Listener::listen_tcp(*loop, {"127.0.0.1", 0}, served.told());
    REQUIRE(listener.ok());
    Dialing dialing(*loop, listener.value().address(), call(auth::Key::draw()));
    run_until(*loop, [&] { return served.sockets.size() == 1; });
    if (words.empty()) {
      ::shutdown(served.sockets[0].get(), SHUT_WR);
    } else {
      put(served.sockets[0], words);
    }
    run_until(*loop, [&] { return dialing.end.has_value(); });
    REQUIRE_FALSE(dialing.end->ok());
    CHECK(dialing.end->error().code == code);
  }
}

TEST_CASE("a dial that is dropped tells nothing") {
  const auto loop = make_loop();
  const auth::Key key = auth::Key::draw();
  Serving serving(*loop, key);
  Dialing dialing(*loop, serving.listener.address(), call(key));
  run_until(*loop, [&] { return serving.gated->handshakes() == 1; });
  dialing.dialer.reset();
  run_until(*loop, [&] { return serving.gated->handshakes() == 0; });
  CHECK_FALSE(dialing.end.has_value());
  CHECK(serving.gated.entered.empty());
}

TEST_CASE("who asks for a person may let a peer's words wait, and a link may not") {
  const auto loop = make_loop();
  const auth::Key key = auth::Key::draw();
  Serving serving(*loop, key);
  for (const auth::Purpose purpose : {auth::Purpose::client, auth::Purpose::link,
                                      auth::Purpose::relay, auth::Purpose::callback}) {
    Dialing dialing(*loop, serving.listener.address(), call(key, purpose));
    run_until(*loop, [&] { return dialing.end && !serving.gated.entered.empty(); });
    int timeout_ms = -1;
    socklen_t size = sizeof timeout_ms;
    REQUIRE(::getsockopt(serving.gated.entered[0].socket.get(), IPPROTO_TCP, TCP_USER_TIMEOUT,
                         &timeout_ms, &size) == 0);
    const bool is_asked_here = purpose == auth::Purpose::client || purpose == auth::Purpose::relay;
    CHECK(timeout_ms == (is_asked_here ? 0 : 10'000));
    REQUIRE(dialing.end->ok());
    REQUIRE(::getsockopt(dialing.end->value().socket.get(), IPPROTO_TCP, TCP_USER_TIMEOUT,
                         &timeout_ms, &size) == 0);
    CHECK(timeout_ms == (purpose == auth::Purpose::callback ? 0 : 10'000));
    serving.gated.entered.clear();
  }
}
