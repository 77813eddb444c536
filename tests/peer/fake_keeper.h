#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gpl/host/socket_path.h"
#include "gpl/net/connection.h"
#include "gpl/net/listener.h"
#include "gpl/net/loop.h"
#include "gpl/wire/codec.h"
#include "gpl/wire/keeper_message.h"

namespace gpl::peer::test {

/// Listens where a keeper does, on the test's own loop: greets who comes, notes what is said, and
/// says what it is told to. Of two peers the later one counts.
class FakeKeeper {
 public:
  FakeKeeper(net::Loop& loop, const std::string& state_folder) : loop_(loop) {
    const auto path = host::socket_path(state_folder, "keeper.sock");
    REQUIRE(path.ok());
    auto listener = net::Listener::listen_unix(
        loop, path.value(), 0600,
        {[this](posix::Fd socket, const net::PeerAddress&) { accept(std::move(socket)); }, {}});
    REQUIRE(listener.ok());
    listener_.emplace(std::move(listener).value());
  }
  FakeKeeper(const FakeKeeper&) = delete;
  FakeKeeper& operator=(const FakeKeeper&) = delete;

  wire::KeeperHello hello{wire::keeper_protocol, wire::keeper_protocol, "0.0", "boot pid:[1] 7"};
  /// A peer has said hello.
  std::function<void()> greeted;
  std::function<void(const wire::PeerToKeeper&)> message;

  void say(const wire::KeeperToPeer& what) {
    if (connection_ && is_greeted_) connection_->send(wire::encode(what));
  }
  void hang_up() {
    connection_.reset();
    is_greeted_ = false;
  }
  bool connected() const { return is_greeted_; }
  int connections() const { return connections_; }

  void say_bytes(std::string payload) { connection_->send(std::move(payload)); }

  /// Of all that was said so far, what is of one kind.
  template <class T>
  std::vector<T> heard() const {
    std::vector<T> some;
    for (const wire::PeerToKeeper& each : heard_) {
      if (const T* one = std::get_if<T>(&each)) some.push_back(*one);
    }
    return some;
  }
  void forget_heard() { heard_.clear(); }

 private:
  void accept(posix::Fd socket) {
    ++connections_;
    is_greeted_ = false;
    net::ConnectionOptions options;
    options.frame_limit_bytes = wire::frame_limit_bytes;
    auto made = net::Connection::adopt(loop_, std::move(socket), options,
                                       {[this](std::string_view payload) { take(payload); },
                                        [this](const net::Closing&) { hang_up(); },
                                        {}});
    REQUIRE(made.ok());
    connection_.emplace(std::move(made).value());
    connection_->send(wire::encode(wire::KeeperToPeer{hello}));
  }

  void take(std::string_view payload) {
    const auto decoded = wire::decode<wire::PeerToKeeper>(payload);
    REQUIRE(decoded.ok());
    heard_.push_back(decoded.value());
    if (std::holds_alternative<wire::KeeperHello>(decoded.value())) {
      is_greeted_ = true;
      if (greeted) greeted();
    } else if (message) {
      message(decoded.value());
    }
  }

  net::Loop& loop_;
  std::optional<net::Listener> listener_;
  std::optional<net::Connection> connection_;
  bool is_greeted_ = false;
  int connections_ = 0;
  std::vector<wire::PeerToKeeper> heard_;
};

}  // namespace gpl::peer::test
