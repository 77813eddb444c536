#pragma once

#include <doctest/doctest.h>
#include <sys/socket.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gpl/auth/key.h"
#include "gpl/net/connection.h"
#include "gpl/net/listener.h"
#include "gpl/net/loop.h"
#include "gpl/net/secure_socket.h"
#include "gpl/peer/mesh.h"
#include "gpl/wire/codec.h"
#include "temporary_folder.h"

/// What peers on one machine do with each other, all on one loop, over real sockets.
namespace mesh_scene {

using namespace gpl;

inline constexpr std::uint64_t cluster = 0x7f3a000000000001;
inline constexpr Duration give_up_after = seconds(20);

/// Turns the loop until `holds()`; the test has failed when that takes too long.
template <class Condition>
void turn_until(net::Loop& loop, Condition holds) {
  const Moment end = loop.now() + give_up_after;
  while (!holds()) {
    REQUIRE(loop.now() < end);
    loop.run_one(milliseconds(200));
  }
}

inline std::unique_ptr<net::Loop> new_loop() {
  auto loop = net::Loop::create();
  REQUIRE(loop.ok());
  return std::move(loop).value();
}

/// So that what takes seconds between machines takes no time here.
inline peer::MeshPace quick() {
  peer::MeshPace pace;
  pace.least_pause = milliseconds(10);
  pace.longest_pause = milliseconds(100);
  return pace;
}

inline net::PeerAddress at_port(std::uint16_t port) { return {"127.0.0.1", port}; }

/// One peer, and all that its Mesh told.
struct Member {
  net::Loop& loop;
  peer::MeshOptions options;
  std::vector<PeerId> ups;
  std::vector<PeerId> downs;
  std::vector<std::pair<PeerId, wire::LinkMessage>> messages;
  std::vector<net::SecureSocket> clients;
  std::vector<Error> twins;
  std::vector<std::string> notes;
  std::unique_ptr<peer::Mesh> mesh;

  Member(net::Loop& on, const auth::Key& key, std::uint64_t id)
      : loop(on), options{{},    key,    auth::draw_key_pair(), "0.1.0", "", at_port(0), {},
                          false, quick()} {
    options.identity.peer = PeerId{id};
    options.identity.cluster = cluster;
    options.identity.name = "m" + std::to_string(id);
  }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  PeerId id() const { return options.identity.peer; }
  std::uint16_t port() const { return mesh->port(); }
  bool is_up(const Member& other) const { return mesh->is_up(other.id()); }

  Result<std::unique_ptr<peer::Mesh>> open() {
    peer::Mesh::Told told;
    told.up = [this](PeerId peer) {
      CHECK(mesh->is_up(peer));
      ups.push_back(peer);
    };
    told.down = [this](PeerId peer) {
      CHECK_FALSE(mesh->is_up(peer));
      downs.push_back(peer);
    };
    told.message = [this](PeerId from, wire::LinkMessage message) {
      CHECK(mesh->is_up(from));
      messages.emplace_back(from, std::move(message));
    };
    told.client = [this](net::SecureSocket socket) { clients.push_back(std::move(socket)); };
    told.twin = [this](const Error& error) { twins.push_back(error); };
    told.note = [this](const std::string& note) { notes.push_back(note); };
    return peer::Mesh::open(loop, options, std::move(told));
  }
  void start(std::vector<net::PeerAddress> seeds = {}) {
    options.seeds = std::move(seeds);
    auto opened = open();
    REQUIRE_MESSAGE(opened.ok(), (opened.ok() ? "" : opened.error().message));
    mesh = std::move(opened).value();
  }
  bool has_noted(const std::string& words) const {
    for (const std::string& note : notes)
      if (note.find(words) != std::string::npos) return true;
    return false;
  }
};

struct Scene {
  std::unique_ptr<net::Loop> loop = new_loop();
  auth::Key key = auth::Key::draw();
  std::vector<std::unique_ptr<Member>> members;

  Member& member(std::uint64_t id) {
    return *members.emplace_back(std::make_unique<Member>(*loop, key, id));
  }
  template <class Condition>
  void until(Condition holds) {
    turn_until(*loop, holds);
  }
  void until_all_linked() {
    until([&] {
      for (const auto& one : members)
        if (one->mesh->up().size() + 1 != members.size()) return false;
      return true;
    });
  }
  /// Whatever is under way has its time.
  void settle(Duration time = milliseconds(300)) {
    const Moment end = loop->now() + time;
    while (loop->now() < end) loop->run_one(milliseconds(20));
  }
};

/// Cuts every TCP connection of this process, as a network that fails does, without a word.
inline void cut_all_connections() {
  for (int fd = 0; fd < 1024; ++fd) {
    sockaddr_storage other;
    socklen_t size = sizeof other;
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&other), &size) == 0 &&
        (other.ss_family == AF_INET || other.ss_family == AF_INET6))
      ::shutdown(fd, SHUT_RDWR);
  }
}

/// The other end of a link, which says what the test says, and nothing by itself.
struct Hand {
  net::Loop& loop;
  std::optional<net::SecureDialer> dialer;
  std::optional<net::Connection> connection;
  std::vector<wire::LinkMessage> heard;
  bool closed = false;

  explicit Hand(net::Loop& on) : loop(on) {}
  Hand(const Hand&) = delete;
  Hand& operator=(const Hand&) = delete;

  void adopt(net::SecureSocket socket) {
    net::Connection::Told told;
    told.frame = [this](std::string_view payload) {
      auto message = wire::decode<wire::LinkMessage>(payload);
      REQUIRE(message.ok());
      heard.push_back(std::move(message).value());
    };
    told.closed = [this](const net::Closing&) { closed = true; };
    net::ConnectionOptions options;
    options.frame_limit_bytes = wire::frame_limit_bytes;
    auto made = net::Connection::adopt(loop, std::move(socket), options, std::move(told));
    REQUIRE(made.ok());
    connection.emplace(std::move(made).value());
  }
  void dial(std::uint16_t port, const auth::Key& key) {
    dialer.emplace(loop, at_port(port),
                   auth::Call{key, auth::Role::peer, auth::draw_key_pair(), auth::Purpose::link},
                   seconds(5), [this](Result<net::SecureSocket> result) {
                     REQUIRE_MESSAGE(result.ok(), (result.ok() ? "" : result.error().message));
                     adopt(std::move(result).value());
                   });
    turn_until(loop, [&] { return connection.has_value(); });
  }
  void say(const wire::LinkMessage& message) { connection->send(wire::encode(message)); }

  template <class T>
  const T* first() const {
    for (const wire::LinkMessage& message : heard)
      if (const T* found = std::get_if<T>(&message)) return found;
    return nullptr;
  }
  template <class T>
  const T& wait_for() {
    turn_until(loop, [&] { return first<T>() != nullptr; });
    return *first<T>();
  }
  void wait_for_end() {
    turn_until(loop, [&] { return closed; });
  }
};

/// One that nobody listens at, for a while.
inline std::uint16_t free_port(net::Loop& loop) {
  const auto listener =
      net::Listener::listen_tcp(loop, at_port(0), {[](posix::Fd, const net::PeerAddress&) {}, {}});
  REQUIRE(listener.ok());
  return listener.value().address().port;
}

inline wire::LinkHello hello_of(std::uint64_t id, std::uint64_t process, std::uint16_t port = 0) {
  wire::LinkHello hello;
  hello.peer = PeerId{id};
  hello.cluster = cluster;
  hello.name = "hand" + std::to_string(id);
  hello.version = "9.9";
  hello.process = process;
  hello.port = port;
  return hello;
}

/// A hand that is linked with the member.
inline std::unique_ptr<Hand> linked_hand(Scene& scene, Member& member,
                                         const wire::LinkHello& hello) {
  auto hand = std::make_unique<Hand>(*scene.loop);
  hand->dial(member.port(), scene.key);
  hand->say(hello);
  scene.until([&] { return member.mesh->is_up(hello.peer); });
  return hand;
}

/// Who is dialled, and does what the test does with it.
struct HandListener {
  std::vector<std::unique_ptr<Hand>> hands;
  std::vector<Moment> accepted;
  std::optional<net::Listener> listener;
  std::optional<net::Gate> gate;

  HandListener(net::Loop& loop, const auth::Key& key) {
    net::Gate::Told entered;
    entered.entered = [this, &loop](net::SecureSocket socket) {
      hands.push_back(std::make_unique<Hand>(loop));
      hands.back()->adopt(std::move(socket));
    };
    gate.emplace(loop, auth::Answering{key, auth::draw_key_pair()}, net::GateLimits{},
                 std::move(entered));
    net::Listener::Told to;
    to.accepted = [this, &loop](posix::Fd socket, const net::PeerAddress& from) {
      accepted.push_back(loop.now());
      gate->take(std::move(socket), from);
    };
    auto made = net::Listener::listen_tcp(loop, at_port(0), std::move(to));
    REQUIRE(made.ok());
    listener.emplace(std::move(made).value());
  }
  HandListener(const HandListener&) = delete;
  HandListener& operator=(const HandListener&) = delete;
  std::uint16_t port() const { return listener->address().port; }
};

}  // namespace mesh_scene
