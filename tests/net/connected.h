#pragma once

#include <doctest/doctest.h>
#include <sys/socket.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpl/net/connection.h"
#include "gpl/posix/fd.h"
#include "run_until.h"

/// A connection that notes what it is told.
struct Noted {
  std::optional<gpl::net::Connection> connection;
  std::vector<std::string> frames;
  std::vector<gpl::net::Closing> closings;
  std::vector<bool> pressures;
  std::function<void(std::string_view)> on_frame = [](std::string_view) {};
  std::function<void()> on_closed = [] {};
  std::function<void(bool)> on_pressure = [](bool) {};

  Noted() = default;
  Noted(const Noted&) = delete;
  Noted& operator=(const Noted&) = delete;

  /// `socket` is a posix::Fd or a SecureSocket.
  template <class Socket>
  void adopt(gpl::net::Loop& loop, Socket socket, gpl::net::ConnectionOptions options = {}) {
    gpl::net::Connection::Told told;
    told.frame = [this](std::string_view payload) {
      frames.emplace_back(payload);
      on_frame(payload);
    };
    told.closed = [this](const gpl::net::Closing& closing) {
      closings.push_back(closing);
      on_closed();
    };
    told.pressure = [this](bool high) {
      pressures.push_back(high);
      on_pressure(high);
    };
    auto made = gpl::net::Connection::adopt(loop, std::move(socket), options, std::move(told));
    REQUIRE(made.ok());
    connection.emplace(std::move(made).value());
  }
  bool closed() const { return !closings.empty(); }
  gpl::net::Connection* operator->() { return &*connection; }
};

struct SocketPair {
  gpl::posix::Fd one;
  gpl::posix::Fd two;

  SocketPair() {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
    one.reset(ends[0]);
    two.reset(ends[1]);
  }
};

inline std::string framed(const std::string& payload) {
  std::string bytes;
  for (unsigned i = 0; i < 4; ++i) bytes += static_cast<char>(payload.size() >> (8 * i) & 0xff);
  return bytes + payload;
}

inline void put(const gpl::posix::Fd& fd, const std::string& bytes) {
  REQUIRE(::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(bytes.size()));
}

/// What there is to read now.
inline std::string take(const gpl::posix::Fd& fd) {
  std::string all;
  char buffer[4096];
  ssize_t count = 0;
  while ((count = ::recv(fd.get(), buffer, sizeof buffer, MSG_DONTWAIT)) > 0) {
    all.append(buffer, static_cast<std::size_t>(count));
  }
  return all;
}

/// Two connections with each other on one loop.
struct Both {
  std::unique_ptr<gpl::net::Loop> loop = make_loop();
  Noted one;
  Noted two;

  explicit Both(gpl::net::ConnectionOptions options = {}) {
    SocketPair pair;
    options.frame_limit_bytes = gpl::wire::frame_limit_bytes;
    one.adopt(*loop, std::move(pair.one), options);
    two.adopt(*loop, std::move(pair.two), options);
  }
};

/// One connection whose other end the test reads and writes itself.
struct Single {
  std::unique_ptr<gpl::net::Loop> loop = make_loop();
  SocketPair pair;
  Noted end;

  explicit Single(gpl::net::ConnectionOptions options = {}) {
    end.adopt(*loop, std::move(pair.one), options);
  }
};
