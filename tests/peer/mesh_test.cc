#include "gpl/peer/mesh.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

#include "mesh_scene.h"

using namespace mesh_scene;

namespace {

std::vector<std::uint64_t> numbers_from(const Member& member, PeerId from) {
  std::vector<std::uint64_t> numbers;
  for (const auto& [peer, message] : member.messages)
    if (const auto* has = std::get_if<wire::Has>(&message); has && peer == from)
      numbers.push_back(has->number);
  return numbers;
}

}  // namespace

TEST_CASE("two peers meet when one is the other's seed") {
  Scene scene;
  Member& one = scene.member(1);
  Member& two = scene.member(2);
  one.start();
  two.start({at_port(one.port())});
  scene.until_all_linked();
  CHECK(one.ups == std::vector{two.id()});
  CHECK(two.ups == std::vector{one.id()});
  CHECK(one.mesh->up() == std::vector{two.id()});
  REQUIRE(one.mesh->hello_of(two.id()) != nullptr);
  CHECK(one.mesh->hello_of(two.id())->name == "m2");
  CHECK(one.mesh->hello_of(two.id())->version == "0.1.0");
  CHECK(two.mesh->address_of(one.id()) == at_port(one.port()));
  CHECK(one.mesh->address_of(two.id()) == at_port(two.port()));
  CHECK(one.notes.empty());
  CHECK(two.notes.empty());
}

TEST_CASE("of a peer that is not linked nothing is known, and nothing is sent to it") {
  Scene scene;
  Member& one = scene.member(1);
  one.start();
  CHECK_FALSE(one.mesh->is_up(PeerId{2}));
  CHECK(one.mesh->hello_of(PeerId{2}) == nullptr);
  CHECK(!one.mesh->address_of(PeerId{2}));
  CHECK_FALSE(one.mesh->send(PeerId{2}, wire::Ping{1}));
}

TEST_CASE("three peers that know one of them meet all") {
  Scene scene;
  for (std::uint64_t id = 1; id <= 3; ++id)
    scene.member(id).start(id == 1 ? std::vector<net::PeerAddress>()
                                   : std::vector{at_port(scene.members[0]->port())});
  scene.until_all_linked();
}

TEST_CASE("five peers that each know the one before meet all, each once") {
  Scene scene;
  for (const std::uint64_t id : {40u, 10u, 50u, 20u, 30u}) {
    Member& member = scene.member(id);
    member.start(scene.members.size() == 1
                     ? std::vector<net::PeerAddress>()
                     : std::vector{at_port(scene.members[scene.members.size() - 2]->port())});
  }
  scene.until_all_linked();
  scene.settle();
  for (const auto& member : scene.members) {
    CHECK(member->mesh->up().size() == 4);
    CHECK(member->ups.size() - member->downs.size() == 4);
    CHECK(member->notes.empty());
  }
}

TEST_CASE("two that dial each other at once have one link in the end, and keep it") {
  for (int round = 0; round < 20; ++round) {
    Scene scene;
    const std::uint16_t ports[] = {free_port(*scene.loop), free_port(*scene.loop)};
    Member& one = scene.member(round % 2 == 0 ? 1 : 2);
    Member& two = scene.member(round % 2 == 0 ? 2 : 1);
    one.options.listen = at_port(ports[0]);
    two.options.listen = at_port(ports[1]);
    // The names are looked up while both begin to listen.
    one.start({{"localhost", ports[1]}});
    two.start({{"localhost", ports[0]}});
    scene.until_all_linked();
    scene.settle(milliseconds(50));
    CHECK(one.mesh->up() == std::vector{two.id()});
    CHECK(two.mesh->up() == std::vector{one.id()});
    CHECK(one.ups.size() == one.downs.size() + 1);
    CHECK(two.ups.size() == two.downs.size() + 1);
    CHECK(one.mesh->send(two.id(), wire::Has{7, true}));
    scene.until([&] { return numbers_from(two, one.id()).size() == 1; });
  }
}

TEST_CASE("messages come in order, both ways, large and small") {
  Scene scene;
  Member& one = scene.member(1);
  Member& two = scene.member(2);
  one.start();
  two.start({at_port(one.port())});
  scene.until_all_linked();
  const std::string large(std::size_t{1} << 20, 'x');
  std::vector<std::uint64_t> all;
  for (std::uint64_t i = 0; i < 500; ++i) {
    all.push_back(i);
    CHECK(one.mesh->send(two.id(), wire::Has{i, true}));
    CHECK(two.mesh->send(one.id(), wire::Has{i, false}));
    if (i % 100 != 50) continue;
    CHECK(one.mesh->send(two.id(), wire::DoYouHave{i, wire::Holding::tree, large}));
    CHECK(two.mesh->send(one.id(), wire::DoYouHave{i, wire::Holding::tree, large}));
  }
  scene.until([&] { return one.messages.size() == 505 && two.messages.size() == 505; });
  CHECK(numbers_from(one, two.id()) == all);
  CHECK(numbers_from(two, one.id()) == all);
  const auto* asked = std::get_if<wire::DoYouHave>(&two.messages[51].second);
  REQUIRE(asked != nullptr);
  CHECK(asked->key == large);
}

TEST_CASE("what no frame can hold is not sent") {
  Scene scene;
  Member& one = scene.member(1);
  Member& two = scene.member(2);
  one.start();
  two.start({at_port(one.port())});
  scene.until_all_linked();
  const std::string huge(wire::frame_limit_bytes, 'x');
  CHECK_FALSE(one.mesh->send(two.id(), wire::DoYouHave{1, wire::Holding::tree, huge}));
  CHECK(one.mesh->send(two.id(), wire::Has{2, true}));
  scene.until([&] { return !two.messages.empty(); });
  CHECK(numbers_from(two, one.id()) == std::vector<std::uint64_t>{2});
}

TEST_CASE("a seed may be a name") {
  Scene scene;
  Member& one = scene.member(1);
  Member& two = scene.member(2);
  one.start();
  two.start({{"localhost", one.port()}});
  scene.until_all_linked();
  CHECK(two.notes.empty());
}

TEST_CASE("a peer that is its own seed is alone, and does not mind") {
  Scene scene;
  Member& one = scene.member(1);
  one.start();
  const net::PeerAddress here = at_port(one.port());
  one.mesh.reset();
  one.options.listen = here;
  one.start({here});
  scene.settle();
  CHECK(one.mesh->up().empty());
  CHECK(one.notes.empty());
  CHECK(one.twins.empty());
}

TEST_CASE("a port that was asked for and is taken is an error that says what to do") {
  Scene scene;
  Member& one = scene.member(1);
  one.start();
  Member& two = scene.member(2);
  two.options.listen = at_port(one.port());
  const auto opened = two.open();
  REQUIRE(!opened.ok());
  CHECK(opened.error().code == Code::busy);
  CHECK(opened.error().message.find("127.0.0.1:" + std::to_string(one.port())) !=
        std::string::npos);
  CHECK(opened.error().message.find("--listen") != std::string::npos);
}

TEST_CASE("where nothing was asked for and the usual port is taken, a free one will do") {
  Scene scene;
  // Whoever has it, this test or another program, it is taken.
  const auto taken = net::Listener::listen_tcp(*scene.loop, {"::", net::default_port},
                                               {[](posix::Fd, const net::PeerAddress&) {}, {}});
  Member& one = scene.member(1);
  one.options.listen.reset();
  one.start();
  CHECK(one.port() != net::default_port);
  CHECK(one.port() != 0);
  REQUIRE(one.notes.size() == 1);
  CHECK(one.has_noted("port 7457 is taken by another program"));
  CHECK(one.has_noted(std::to_string(one.port())));
}

TEST_CASE("a peer that listens everywhere is reached by IPv4 and IPv6") {
  Scene scene;
  Member& one = scene.member(1);
  one.options.listen = net::PeerAddress{"::", 0};
  one.start();
  Member& two = scene.member(2);
  two.start({at_port(one.port())});
  Member& three = scene.member(3);
  three.options.listen = net::PeerAddress{"::1", 0};
  three.start({{"::1", one.port()}});
  scene.until([&] { return one.mesh->up().size() == 2; });
  CHECK(one.mesh->address_of(three.id()) == net::PeerAddress{"::1", three.port()});
  CHECK(one.mesh->address_of(two.id()) == at_port(two.port()));
}

TEST_CASE("the shown address is the one that it listens at") {
  Scene scene;
  Member& one = scene.member(1);
  one.start();
  CHECK(one.mesh->shown_address() == "127.0.0.1:" + std::to_string(one.port()));
}

TEST_CASE("who listens everywhere does not show a loopback or unspecified address") {
  Scene scene;
  Member& one = scene.member(1);
  one.options.listen = net::PeerAddress{"::", 0};
  one.start();
  const std::string shown = one.mesh->shown_address();
  CHECK(shown.ends_with(":" + std::to_string(one.port())));
  CHECK_FALSE(shown.starts_with("127."));
  CHECK_FALSE(shown.starts_with("[::"));
  CHECK_FALSE(shown.starts_with("0."));
}

TEST_CASE("a connection of its own goes to where the link is, and to nobody else") {
  Scene scene;
  Member& one = scene.member(1);
  Member& two = scene.member(2);
  one.start();
  two.start({at_port(one.port())});
  scene.until_all_linked();
  for (auto [from, to] : {std::pair(&one, &two), std::pair(&two, &one)}) {
    std::optional<Result<net::SecureSocket>> end;
    from->mesh->dial(to->id(), [&](Result<net::SecureSocket> result) { end = std::move(result); });
    scene.until([&] { return end.has_value() && to->clients.size() == 1; });
    REQUIRE(end->ok());
    CHECK(end->value().session.remote_static == to->options.own.public_half);
    CHECK(to->clients[0].session.purpose == auth::Purpose::relay);
    CHECK(to->clients[0].session.remote_static == from->options.own.public_half);
  }
  std::optional<Result<net::SecureSocket>> end;
  one.mesh->dial(PeerId{3}, [&](Result<net::SecureSocket> result) { end = std::move(result); });
  scene.until([&] { return end.has_value(); });
  REQUIRE(!end->ok());
  CHECK(end->error().code == Code::not_found);
}

TEST_CASE("a client is given on, and is no link") {
  Scene scene;
  Member& one = scene.member(1);
  one.start();
  std::optional<Result<net::SecureSocket>> end;
  const auth::Key client = scene.key.derive(auth::Role::client).value();
  const net::SecureDialer dialer(
      *scene.loop, at_port(one.port()),
      auth::Call{client, auth::Role::client, auth::draw_key_pair(), auth::Purpose::client},
      seconds(5), [&](Result<net::SecureSocket> result) { end = std::move(result); });
  scene.until([&] { return end.has_value() && one.clients.size() == 1; });
  CHECK(end->ok());
  CHECK(one.clients[0].session.role == auth::Role::client);
  CHECK(one.mesh->up().empty());
}

TEST_CASE("a Mesh may be dropped by its own call") {
  Scene scene;
  Member& one = scene.member(1);
  one.start();
  std::unique_ptr<peer::Mesh> other;
  bool was_up = false;
  peer::Mesh::Told told;
  told.up = [&](PeerId) {
    was_up = true;
    other.reset();
  };
  peer::MeshOptions options = one.options;
  options.identity.peer = PeerId{2};
  options.seeds = {at_port(one.port())};
  auto opened = peer::Mesh::open(*scene.loop, options, std::move(told));
  REQUIRE(opened.ok());
  other = std::move(opened).value();
  scene.until([&] { return was_up && one.ups.size() == 1 && one.downs.size() == 1; });
  CHECK(other == nullptr);
}
