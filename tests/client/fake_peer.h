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
#include "gpl/net/secure_socket.h"
#include "gpl/wire/codec.h"
#include "temporary_folder.h"

/// A peer of a test's own, in a thread of its own: it greets, notes what it is asked, and answers
/// as it is told. It has one client at a time.
class FakePeer {
 public:
  /// Called in the peer's thread for every message but the hello.
  using Answering = std::function<void(FakePeer& peer, const gpl::wire::ClientMessage& message)>;

  FakePeer(const std::string& path, Answering answering,
           gpl::wire::Answer greeting = gpl::wire::Hello{1, 1, "test"})
      : FakePeer(std::move(answering), std::move(greeting)) {
    gpl::net::Listener::Told told;
    told.accepted = [this](gpl::posix::Fd socket, const gpl::net::PeerAddress&) {
      accept(std::move(socket));
    };
    serve(gpl::net::Listener::listen_unix(*loop_, path, 0600, std::move(told)));
  }
  /// Over TCP, on loopback; port 0: a free one.
  FakePeer(const gpl::auth::Key& key, std::uint16_t port, Answering answering,
           gpl::wire::Answer greeting = gpl::wire::Hello{1, 1, "test"})
      : FakePeer(std::move(answering), std::move(greeting)) {
    gpl::net::Gate::Told entered;
    entered.entered = [this](gpl::net::SecureSocket socket) {
      callers_.push_back(socket.session.remote_static);
      roles_.push_back(socket.session.role);
      accept(std::move(socket));
    };
    gate_.emplace(*loop_, gpl::auth::Answering{key, gpl::auth::draw_key_pair(), {}},
                  gpl::net::GateLimits{}, std::move(entered));
    gpl::net::Listener::Told told;
    told.accepted = [this](gpl::posix::Fd socket, const gpl::net::PeerAddress& from) {
      gate_->take(std::move(socket), from);
    };
    serve(gpl::net::Listener::listen_tcp(*loop_, {"127.0.0.1", port}, std::move(told)));
  }
  FakePeer(const FakePeer&) = delete;
  FakePeer& operator=(const FakePeer&) = delete;
  ~FakePeer() { stop(); }
  /// Serves no more: who is connected is cut off. What was noted can still be asked for.
  void stop() {
    if (!thread_.joinable()) return;
    loop_->stop();
    thread_.join();
    connection_.reset();
    listener_.reset();
  }

  /// Over TCP: where it listens.
  const gpl::net::PeerAddress& address() const { return listener_->address(); }
  /// Over TCP: who has come in. After `stop`.
  const std::vector<gpl::auth::KeyBytes>& callers() const { return callers_; }
  const std::vector<gpl::auth::Role>& roles() const { return roles_; }

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
  FakePeer(Answering answering, gpl::wire::Answer greeting)
      : answering_(std::move(answering)), greeting_(std::move(greeting)) {
    auto loop = gpl::net::Loop::create();
    REQUIRE(loop.ok());
    loop_ = std::move(loop).value();
  }

  void serve(gpl::Result<gpl::net::Listener> listener) {
    REQUIRE(listener.ok());
    listener_.emplace(std::move(listener).value());
    thread_ = std::thread([this] {
      sigset_t all;  // a test's signals are for the client's thread
      ::sigfillset(&all);
      ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
      loop_->run();
    });
  }

  template <class Socket>
  void accept(Socket socket) {
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
  std::optional<gpl::net::Gate> gate_;
  std::optional<gpl::net::Listener> listener_;
  std::optional<gpl::net::Connection> connection_;
  std::vector<gpl::auth::KeyBytes> callers_;
  std::vector<gpl::auth::Role> roles_;
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
