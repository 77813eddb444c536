#pragma once

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpl/net/dialer.h"
#include "gpl/net/listener.h"
#include "gpl/posix/fd.h"
#include "run_until.h"

/// A listener that keeps the sockets it was given.
struct Served {
  std::vector<gpl::posix::Fd> sockets;
  std::vector<gpl::net::PeerAddress> from;
  std::vector<std::string> notes;

  gpl::net::Listener::Told told() {
    return {[this](gpl::posix::Fd socket, const gpl::net::PeerAddress& address) {
              sockets.push_back(std::move(socket));
              from.push_back(address);
            },
            [this](const std::string& note) { notes.push_back(note); }};
  }
};

/// Dials and notes what comes of it.
struct Dialed {
  std::optional<gpl::Result<gpl::posix::Fd>> end;
  std::optional<gpl::net::Dialer> dialer;
  gpl::net::Dialer::Done done() {
    return [this](gpl::Result<gpl::posix::Fd> result) {
      CHECK_FALSE(end.has_value());
      end.emplace(std::move(result));
    };
  }
};

inline gpl::net::Listener listen(gpl::net::Loop& loop, const std::string& path, Served& served,
                                 mode_t mode = 0600) {
  auto made = gpl::net::Listener::listen_unix(loop, path, mode, served.told());
  REQUIRE_MESSAGE(made.ok(), (made.ok() ? "" : made.error().message));
  return std::move(made).value();
}

inline gpl::Result<gpl::posix::Fd> dial(gpl::net::Loop& loop, const std::string& path) {
  Dialed dialed;
  dialed.dialer = gpl::net::Dialer::unix_socket(loop, path, failure_stop, dialed.done());
  CHECK_FALSE(dialed.end.has_value());
  run_until(loop, [&] { return dialed.end.has_value(); });
  return std::move(*dialed.end);
}

/// A Unix socket of the test's own, bound but not listening.
inline gpl::posix::Fd bound_socket(const std::string& path) {
  gpl::posix::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un name = {};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, path.c_str(), path.size());
  REQUIRE(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0);
  return socket;
}

/// Connected by the system, whether or not anyone accepts.
inline gpl::posix::Fd connected_socket(const std::string& path) {
  gpl::posix::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un name = {};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, path.c_str(), path.size());
  REQUIRE(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0);
  return socket;
}
