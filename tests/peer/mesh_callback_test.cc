#include "mesh_scene.h"

using namespace mesh_scene;

namespace {

using Dialling = std::optional<Result<net::SecureSocket>>;

Dialling& dial(Member& from, PeerId to, std::vector<std::unique_ptr<Dialling>>& all) {
  Dialling& end = *all.emplace_back(std::make_unique<Dialling>());
  from.mesh->dial(to, [&end](Result<net::SecureSocket> result) { end = std::move(result); });
  return end;
}

std::size_t asked_to_connect(const Hand& hand) {
  std::size_t count = 0;
  for (const wire::LinkMessage& message : hand.heard)
    if (std::holds_alternative<wire::CallBack>(message)) ++count;
  return count;
}

/// A linked peer whose listener nobody reaches, played by hand.
struct Shut {
  Scene& scene;
  Member& asker;
  auth::KeyPair own = auth::draw_key_pair();
  std::uint16_t said_port;
  Hand hand{*scene.loop};
  std::vector<std::unique_ptr<net::SecureDialer>> dialers;
  std::vector<Dialling> made;
  std::vector<std::unique_ptr<Dialling>> ends;

  static constexpr PeerId id{9};

  Shut(Scene& in, Member& by, std::uint16_t port) : scene(in), asker(by), said_port(port) {
    hand.dialer.emplace(*scene.loop, at_port(asker.port()), call(auth::Purpose::link), seconds(5),
                        [this](Result<net::SecureSocket> result) {
                          REQUIRE(result.ok());
                          hand.adopt(std::move(result).value());
                        });
    scene.until([&] { return hand.connection.has_value(); });
    hand.say(hello_of(id.value, 77, said_port));
    scene.until([&] { return asker.mesh->is_up(id); });
  }
  Shut(const Shut&) = delete;
  Shut& operator=(const Shut&) = delete;

  auth::Call call(auth::Purpose purpose) const {
    return {scene.key, auth::Role::peer, own, purpose};
  }
  void connect(const auth::Call& with) {
    const std::size_t which = made.size();
    made.emplace_back();
    dialers.push_back(std::make_unique<net::SecureDialer>(
        *scene.loop, at_port(asker.port()), with, seconds(5),
        [this, which](Result<net::SecureSocket> result) { made[which] = std::move(result); }));
  }
  Dialling& dialled() { return dial(asker, id, ends); }
};

}  // namespace

TEST_CASE("a peer that cannot be dialled is asked to connect, and does so as one that is asked") {
  Scene scene;
  Member& one = scene.member(1);
  one.start();
  Shut shut(scene, one, free_port(*scene.loop));
  const Dialling& end = shut.dialled();
  scene.until([&] { return asked_to_connect(shut.hand) == 1; });
  CHECK(one.has_noted("hand9 cannot be reached at " + net::to_text(at_port(shut.said_port)) +
                      " (does its firewall let it in?): it is asked to connect instead"));
  CHECK_FALSE(end.has_value());
  shut.connect(shut.call(auth::Purpose::callback));
  scene.until([&] { return end.has_value(); });
  REQUIRE(end->ok());
  CHECK(end->value().session.purpose == auth::Purpose::callback);
  CHECK(end->value().session.remote_static == shut.own.public_half);
  CHECK(one.clients.empty());
}

TEST_CASE("who asks for a connection gets one on which it is the one that asks") {
  Scene scene;
  Member& one = scene.member(1);
  HandListener there(*scene.loop, scene.key);
  one.start({at_port(there.port())});
  scene.until([&] { return there.hands.size() == 1; });
  Hand& asker = *there.hands[0];
  asker.wait_for<wire::LinkHello>();
  asker.say(hello_of(9, 77, there.port()));
  scene.until([&] { return one.mesh->is_up(PeerId{9}); });
  asker.say(wire::CallBack{});
  scene.until([&] { return one.clients.size() == 1 && there.hands.size() == 2; });
  CHECK(one.clients[0].session.purpose == auth::Purpose::callback);
  CHECK(one.mesh->peer_of(one.clients[0].session.remote_static) == PeerId{9});
}

TEST_CASE("a peer without a listener is asked to connect at once, and two that wait get one each") {
  Scene scene;
  Member& one = scene.member(1);
  one.start();
  Shut shut(scene, one, 0);
  const Dialling& first = shut.dialled();
  const Dialling& second = shut.dialled();
  scene.until([&] { return asked_to_connect(shut.hand) == 2; });
  shut.connect(shut.call(auth::Purpose::callback));
  scene.until([&] { return first.has_value(); });
  CHECK_FALSE(second.has_value());
  shut.connect(shut.call(auth::Purpose::callback));
  scene.until([&] { return second.has_value(); });
  CHECK(first->ok());
  CHECK(second->ok());
  CHECK_FALSE(one.has_noted("cannot be reached"));
}

TEST_CASE("what nobody waits for, or comes from somebody else, is nobody's connection") {
  Scene scene;
  Member& one = scene.member(1);
  one.start();
  Shut shut(scene, one, 0);
  const Dialling& end = shut.dialled();
  auth::Call other = shut.call(auth::Purpose::callback);
  other.own = auth::draw_key_pair();
  shut.connect(other);
  scene.until([&] { return shut.made[0].has_value(); });
  scene.settle(milliseconds(50));
  CHECK_FALSE(end.has_value());
  shut.connect(shut.call(auth::Purpose::callback));
  shut.connect(shut.call(auth::Purpose::callback));
  scene.until([&] { return end.has_value() && shut.made[2].has_value(); });
  scene.settle(milliseconds(50));
  CHECK(end->ok());
  CHECK(one.clients.empty());
}

TEST_CASE("that dialling a peer is in vain is known for a while, and not when its port changes") {
  Scene scene;
  Member& one = scene.member(1);
  one.start();
  auto shut = std::make_unique<Shut>(scene, one, free_port(*scene.loop));
  const Dialling& first = shut->dialled();
  scene.until([&] { return asked_to_connect(shut->hand) == 1; });
  shut->connect(shut->call(auth::Purpose::callback));
  scene.until([&] { return first.has_value(); });

  // It listens now, and nobody tries.
  const auto listening = [&](std::uint16_t port, std::size_t& tries) {
    return net::Listener::listen_tcp(
        *scene.loop, at_port(port),
        {[&tries](const posix::Fd&, const net::PeerAddress&) { ++tries; }, {}});
  };
  std::size_t tried = 0;
  const auto there = listening(shut->said_port, tried);
  REQUIRE(there.ok());
  const Dialling& again = shut->dialled();
  scene.until([&] { return asked_to_connect(shut->hand) == 2; });
  shut->connect(shut->call(auth::Purpose::callback));
  scene.until([&] { return again.has_value(); });
  CHECK(tried == 0);

  std::size_t tried_elsewhere = 0;
  const auto elsewhere = listening(0, tried_elsewhere);
  REQUIRE(elsewhere.ok());
  shut.reset();
  scene.until([&] { return one.mesh->up().empty(); });
  Shut moved(scene, one, elsewhere.value().address().port);
  moved.dialled();
  scene.until([&] { return tried_elsewhere > 0; });
}

TEST_CASE("a peer that does not answer when dialled is asked to connect meanwhile") {
  Scene scene;
  Member& one = scene.member(1);
  one.start();
  std::vector<posix::Fd> silent;
  const auto there = net::Listener::listen_tcp(
      *scene.loop, at_port(0),
      {[&](posix::Fd socket, const net::PeerAddress&) { silent.push_back(std::move(socket)); },
       {}});
  REQUIRE(there.ok());
  Shut shut(scene, one, there.value().address().port);
  const Dialling& end = shut.dialled();
  scene.until([&] { return asked_to_connect(shut.hand) == 1; });
  CHECK(silent.size() == 1);
  CHECK_FALSE(end.has_value());
  shut.connect(shut.call(auth::Purpose::callback));
  scene.until([&] { return end.has_value(); });
  CHECK(end->ok());
  // Whether it can be dialled is found out still.
  CHECK_FALSE(one.has_noted("cannot be reached"));
  silent.clear();
  scene.until([&] { return one.has_noted("cannot be reached"); });
}

TEST_CASE("one that does not connect either is an error in the end, and so is one too many") {
  Scene scene;
  Member& one = scene.member(1);
  one.options.pace.called_back_within = milliseconds(300);
  one.start();
  Shut shut(scene, one, 0);
  for (int i = 0; i < 4; ++i) shut.dialled();
  const Dialling& fifth = shut.dialled();
  scene.until([&] { return fifth.has_value(); });
  REQUIRE_FALSE(fifth->ok());
  CHECK(fifth->error().code == Code::busy);
  const Dialling& first = *shut.ends[0];
  scene.until([&] { return first.has_value(); });
  REQUIRE_FALSE(first->ok());
  CHECK(first->error().code == Code::not_found);
  CHECK(first->error().message.find("did not connect when asked to") != std::string::npos);
}
