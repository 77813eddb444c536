// Listener and Dialer over TCP, on the loopback interface.
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "connected.h"
#include "gpl/net/credentials.h"
#include "gpl/net/dialer.h"
#include "gpl/net/listener.h"
#include "run_until.h"
#include "serving.h"

using namespace gpl;
using net::Dialer;
using net::Listener;
using net::PeerAddress;

namespace {

Listener listen_tcp(net::Loop& loop, const PeerAddress& address, Served& served) {
  auto made = Listener::listen_tcp(loop, address, served.told());
  REQUIRE_MESSAGE(made.ok(), (made.ok() ? "" : made.error().message));
  return std::move(made).value();
}

Result<posix::Fd> dial_tcp(net::Loop& loop, const PeerAddress& address) {
  Dialed dialed;
  dialed.dialer = Dialer::tcp(loop, address, failure_stop, dialed.done());
  CHECK_FALSE(dialed.end.has_value());
  run_until(loop, [&] { return dialed.end.has_value(); });
  return std::move(*dialed.end);
}

int option_of(int socket, int level, int option) {
  int value = -1;
  socklen_t size = sizeof value;
  REQUIRE(::getsockopt(socket, level, option, &value, &size) == 0);
  return value;
}

}  // namespace

TEST_CASE("a TCP connection carries frames, over IPv4 and IPv6") {
  for (const char* const host : {"127.0.0.1", "::1"}) {
    auto loop = make_loop();
    Served served;
    const Listener listener = listen_tcp(*loop, {host, 0}, served);
    CHECK(listener.address().host == host);
    CHECK(listener.address().port != 0);
    auto dialed = dial_tcp(*loop, listener.address());
    REQUIRE(dialed.ok());
    run_until(*loop, [&] { return served.sockets.size() == 1; });
    CHECK(served.from[0].host == host);

    Noted one;
    Noted two;
    net::ConnectionOptions options;
    options.frame_limit_bytes = wire::frame_limit_bytes;
    one.adopt(*loop, std::move(dialed).value(), options);
    two.adopt(*loop, std::move(served.sockets[0]), options);
    const std::string large(5'000'000, 'x');
    one->send(large);
    two->send("small");
    one->close_after_writing();
    run_until(*loop, [&] { return one.closed() && two.closed(); });
    CHECK(two.frames == std::vector<std::string>{large});
  }
}

TEST_CASE("both ends of a TCP connection send at once and notice a peer that is gone") {
  auto loop = make_loop();
  Served served;
  const Listener listener = listen_tcp(*loop, {"127.0.0.1", 0}, served);
  const auto dialed = dial_tcp(*loop, listener.address());
  run_until(*loop, [&] { return served.sockets.size() == 1; });
  for (const int end : {dialed.value().get(), served.sockets[0].get()}) {
    CHECK(option_of(end, IPPROTO_TCP, TCP_NODELAY) == 1);
    CHECK(option_of(end, SOL_SOCKET, SO_KEEPALIVE) == 1);
    CHECK(option_of(end, IPPROTO_TCP, TCP_KEEPIDLE) == 4);
    CHECK(option_of(end, IPPROTO_TCP, TCP_KEEPINTVL) == 2);
    CHECK(option_of(end, IPPROTO_TCP, TCP_USER_TIMEOUT) == 10'000);
  }
}

TEST_CASE("one listener on all addresses takes IPv6 and IPv4, and tells an IPv4 address as such") {
  auto loop = make_loop();
  Served served;
  const Listener listener = listen_tcp(*loop, {"::", 0}, served);
  const auto v4 = dial_tcp(*loop, {"127.0.0.1", listener.address().port});
  const auto v6 = dial_tcp(*loop, {"::1", listener.address().port});
  REQUIRE(v4.ok());
  REQUIRE(v6.ok());
  run_until(*loop, [&] { return served.from.size() == 2; });
  CHECK(served.from[0].host == "127.0.0.1");
  CHECK(served.from[1].host == "::1");
}

TEST_CASE("a port that is taken, an address that is not ours, and a name are refused as such") {
  auto loop = make_loop();
  Served served;
  const Listener listener = listen_tcp(*loop, {"127.0.0.1", 0}, served);
  const auto taken = Listener::listen_tcp(*loop, listener.address(), served.told());
  REQUIRE_FALSE(taken.ok());
  CHECK(taken.error().code == Code::busy);
  CHECK(taken.error().message.find(std::to_string(listener.address().port)) != std::string::npos);
  // TEST-NET-1 (RFC 5737) is nobody's.
  const auto foreign = Listener::listen_tcp(*loop, {"192.0.2.1", 0}, served.told());
  REQUIRE_FALSE(foreign.ok());
  CHECK(foreign.error().code == Code::not_found);
  const auto name = Listener::listen_tcp(*loop, {"localhost", 0}, served.told());
  REQUIRE_FALSE(name.ok());
  CHECK(name.error().code == Code::invalid);
}

TEST_CASE("the port of a listener that is gone is free, though connections of it still end") {
  auto loop = make_loop();
  Served served;
  std::optional<Listener> listener = listen_tcp(*loop, {"127.0.0.1", 0}, served);
  const PeerAddress address = listener->address();
  const auto dialed = dial_tcp(*loop, address);
  run_until(*loop, [&] { return served.sockets.size() == 1; });
  listener.reset();
  served.sockets.clear();
  listener = listen_tcp(*loop, address, served);
  CHECK(dial_tcp(*loop, address).ok());
}

TEST_CASE("dialing a port where nobody listens is nobody there, and what is no address invalid") {
  auto loop = make_loop();
  PeerAddress address;
  {
    Served served;
    address = listen_tcp(*loop, {"127.0.0.1", 0}, served).address();
  }
  const auto nobody = dial_tcp(*loop, address);
  REQUIRE_FALSE(nobody.ok());
  CHECK(nobody.error().code == Code::not_found);
  CHECK(nobody.error().message.find("127.0.0.1:" + std::to_string(address.port)) !=
        std::string::npos);
  CHECK(dial_tcp(*loop, {"localhost", 1}).error().code == Code::invalid);
}

TEST_CASE("a peer that does not answer is given up in the end") {
  auto loop = make_loop();
  // A listener whose queue is full: the system drops what more comes, as a machine that is off.
  Served served;
  const posix::Fd owner(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in name = {};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof name;
  auto* const address = reinterpret_cast<sockaddr*>(&name);
  REQUIRE(::bind(owner.get(), address, size) == 0);
  REQUIRE(::listen(owner.get(), 0) == 0);
  REQUIRE(::getsockname(owner.get(), address, &size) == 0);
  const PeerAddress there{"127.0.0.1", ntohs(name.sin_port)};
  const auto first = dial_tcp(*loop, there);
  REQUIRE(first.ok());
  Dialed waiting;
  waiting.dialer = Dialer::tcp(*loop, there, milliseconds(30), waiting.done());
  run_until(*loop, [&] { return waiting.end.has_value(); });
  REQUIRE_FALSE(waiting.end->ok());
  CHECK(waiting.end->error().code == Code::not_found);
  CHECK(waiting.end->error().message.find("no answer") != std::string::npos);
}

TEST_CASE("a TCP socket does not tell who is at its other end") {
  auto loop = make_loop();
  Served served;
  const Listener listener = listen_tcp(*loop, {"127.0.0.1", 0}, served);
  const auto dialed = dial_tcp(*loop, listener.address());
  CHECK(net::peer_credentials(dialed.value().get()).error().code == Code::unsupported);
}
