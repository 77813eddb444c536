#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../net/connected.h"
#include "gpl/peer/far_sessions.h"
#include "gpl/wire/codec.h"

namespace gpl::peer::test {

/// Another peer, as FarSessions reach it: what it was asked, and what the test lets it answer.
class FarPeer {
 public:
  explicit FarPeer(net::Loop& loop) : loop_(loop) {}

  bool reachable = true;
  bool greets = true;
  std::uint32_t protocol = wire::client_protocol;
  /// Answers by itself when set.
  std::function<void(std::uint32_t question, const wire::Question&)> answers;
  std::vector<wire::ClientMessage> heard;  ///< but for hellos
  int dials = 0;

  void connect(net::ConnectionOptions options, net::Connection::Told told,
               const FarSessions::Made& made) {
    ++dials;
    if (!reachable) return made(Error{Code::not_found, "no route"});
    SocketPair pair;
    end_ = std::make_unique<Noted>();
    net::ConnectionOptions own;
    own.frame_limit_bytes = wire::frame_limit_bytes;
    end_->on_frame = [this](std::string_view payload) { take(payload); };
    end_->adopt(loop_, std::move(pair.one), own);
    made(net::Connection::adopt(loop_, std::move(pair.two), options, std::move(told)));
  }
  void say(std::uint32_t question, wire::Answer answer) {
    end_->connection->send(wire::encode(wire::PeerMessage{question, std::move(answer)}));
  }
  void hang_up() { end_->connection->close(); }
  bool is_connected() const { return end_ && !end_->closed(); }

  /// All that it was asked of one kind, with the numbers of the questions.
  template <class T>
  std::vector<std::pair<std::uint32_t, T>> asked() const {
    std::vector<std::pair<std::uint32_t, T>> all;
    for (const wire::ClientMessage& message : heard)
      if (const auto* body = std::get_if<T>(&message.body))
        all.emplace_back(message.question, *body);
    return all;
  }

 private:
  void take(std::string_view payload) {
    auto message = wire::decode<wire::ClientMessage>(payload);
    REQUIRE(message.ok());
    if (std::holds_alternative<wire::Hello>(message.value().body)) {
      if (greets) say(0, wire::Hello{protocol, protocol, "test"});
      return;
    }
    heard.push_back(message.value());
    if (answers) answers(message.value().question, message.value().body);
  }

  net::Loop& loop_;
  std::unique_ptr<Noted> end_;
};

/// A few of them, by id.
struct FarPeers {
  explicit FarPeers(net::Loop& on) : loop(on) {}
  FarPeer& at(std::uint64_t id) {
    std::unique_ptr<FarPeer>& peer = peers[PeerId{id}];
    if (!peer) peer = std::make_unique<FarPeer>(loop);
    return *peer;
  }
  FarSessions::Connect connect() {
    return [this](PeerId peer, net::ConnectionOptions options, net::Connection::Told told,
                  const FarSessions::Made& made) {
      at(peer.value).connect(options, std::move(told), made);
    };
  }

  net::Loop& loop;
  std::map<PeerId, std::unique_ptr<FarPeer>> peers;
};

}  // namespace gpl::peer::test
