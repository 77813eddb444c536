#pragma once

#include <doctest/doctest.h>

#include <csignal>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gpl/client/session.h"
#include "gpl/net/connection.h"
#include "gpl/net/listener.h"
#include "gpl/net/loop.h"
#include "gpl/wire/codec.h"
#include "temporary_folder.h"

/// A peer of a test's own, in a thread of its own: it greets, notes what it is asked, and answers
/// as it is told. It has one client at a time.
class FakePeer {
 public:
  /// Called in the peer's thread for every message but the hello.
  using Answering = std::function<void(FakePeer& peer, const gpl::wire::ClientMessage& message)>;

  FakePeer(std::string path, Answering answering,
           gpl::wire::Answer greeting = gpl::wire::Hello{1, 1, "test"})
      : answering_(std::move(answering)), greeting_(std::move(greeting)) {
    auto loop = gpl::net::Loop::create();
    REQUIRE(loop.ok());
    loop_ = std::move(loop).value();
    gpl::net::Listener::Told told;
    told.accepted = [this](gpl::posix::Fd socket, const gpl::net::PeerAddress&) {
      accept(std::move(socket));
    };
    auto listener = gpl::net::Listener::listen_unix(*loop_, path, 0600, std::move(told));
    REQUIRE(listener.ok());
    listener_.emplace(std::move(listener).value());
    thread_ = std::thread([this] {
      sigset_t all;  // a test's signals are for the client's thread
      ::sigfillset(&all);
      ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
      loop_->run();
    });
  }
  FakePeer(const FakePeer&) = delete;
  FakePeer& operator=(const FakePeer&) = delete;
  ~FakePeer() {
    loop_->stop();
    thread_.join();
  }

  void say(std::uint32_t question, gpl::wire::Answer answer) {
    connection_->send(gpl::wire::encode(gpl::wire::PeerMessage{question, std::move(answer)}));
  }
  /// The connection ends once all that was said is written.
  void hang_up() { connection_->close_after_writing(); }
  /// How often somebody has connected: in the peer's thread.
  int connections() const { return connections_; }

  /// All that was asked so far, of any connection.
  std::vector<gpl::wire::ClientMessage> asked() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return asked_;
  }
  /// The bodies of one kind among them.
  template <class T>
  std::vector<T> asked_of() const {
    std::vector<T> some;
    for (const gpl::wire::ClientMessage& message : asked()) {
      if (const T* body = std::get_if<T>(&message.body)) some.push_back(*body);
    }
    return some;
  }

 private:
  void accept(gpl::posix::Fd socket) {
    ++connections_;
    gpl::net::ConnectionOptions options;
    options.frame_limit_bytes = gpl::wire::frame_limit_bytes;
    gpl::net::Connection::Told told;
    told.frame = [this](std::string_view payload) { received(payload); };
    told.closed = [](const gpl::net::Closing&) {};
    auto made = gpl::net::Connection::adopt(*loop_, std::move(socket), options, std::move(told));
    if (made.ok()) connection_.emplace(std::move(made).value());
  }

  void received(std::string_view payload) {
    const auto message = gpl::wire::decode<gpl::wire::ClientMessage>(payload);
    if (!message.ok()) return connection_->close();
    if (std::holds_alternative<gpl::wire::Hello>(message.value().body)) return say(0, greeting_);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      asked_.push_back(message.value());
    }
    answering_(*this, message.value());
  }

  Answering answering_;
  gpl::wire::Answer greeting_;
  std::unique_ptr<gpl::net::Loop> loop_;
  std::optional<gpl::net::Listener> listener_;
  std::optional<gpl::net::Connection> connection_;
  int connections_ = 0;
  mutable std::mutex mutex_;
  std::vector<gpl::wire::ClientMessage> asked_;
  std::thread thread_;
};

/// A place to connect to, tried once.
inline gpl::client::PeerPlace place_of(const std::string& path) {
  gpl::client::PeerPlace place;
  place.sockets = {path};
  place.patience = {};
  place.version = "test";
  return place;
}

inline std::unique_ptr<gpl::client::Session> connect(const std::string& path,
                                                     const gpl::client::Voice& voice) {
  auto session = gpl::client::Session::connect(place_of(path), voice);
  REQUIRE_MESSAGE(session.ok(), (session.ok() ? "" : session.error().message));
  return std::move(session).value();
}
