// Links that are lost, restarts, and who is not who it says it is.
#include <doctest/doctest.h>

#include <string>

#include "gpl/peer/address_book.h"
#include "mesh_scene.h"

using namespace mesh_scene;

namespace {

void open_pair(Scene& scene) {
  Member& one = scene.member(1);
  one.start();
  scene.member(2).start({at_port(one.port())});
  scene.until_all_linked();
}

std::string text_at(std::uint16_t port) { return "127.0.0.1:" + std::to_string(port); }

}  // namespace

TEST_CASE("a link that is cut comes back") {
  Scene scene;
  open_pair(scene);
  Member& one = *scene.members[0];
  Member& two = *scene.members[1];
  cut_all_connections();
  scene.until([&] { return one.ups.size() == 2 && two.ups.size() == 2; });
  CHECK(one.downs == std::vector{two.id()});
  CHECK(two.downs == std::vector{one.id()});
  CHECK(one.mesh->send(two.id(), wire::Has{1, true}));
  scene.until([&] { return two.messages.size() == 1; });
}

TEST_CASE("three whose links are all cut, again and again, are whole in the end") {
  Scene scene;
  for (std::uint64_t id = 1; id <= 3; ++id)
    scene.member(id).start(id == 1 ? std::vector<net::PeerAddress>()
                                   : std::vector{at_port(scene.members[0]->port())});
  scene.until_all_linked();
  for (int round = 0; round < 10; ++round) {
    cut_all_connections();
    scene.settle(milliseconds(round * 3));
  }
  scene.settle();
  scene.until_all_linked();
  for (const auto& member : scene.members) CHECK(member->ups.size() == member->downs.size() + 2);
}

TEST_CASE("a peer that restarts at another port is linked again") {
  Scene scene;
  open_pair(scene);
  Member& one = *scene.members[0];
  Member& two = *scene.members[1];
  two.mesh.reset();
  scene.until([&] { return one.downs.size() == 1; });
  two.start({at_port(one.port())});
  scene.until_all_linked();
  CHECK(one.ups == std::vector{two.id(), two.id()});
  CHECK(one.mesh->address_of(two.id()) == at_port(two.port()));
}

TEST_CASE("a peer that restarts where it was is dialled, without a seed of its own") {
  Scene scene;
  open_pair(scene);
  Member& one = *scene.members[0];
  Member& two = *scene.members[1];
  two.options.listen = at_port(two.port());
  two.mesh.reset();
  two.start();
  scene.until([&] { return one.ups.size() == 2; });
  scene.until_all_linked();
}

TEST_CASE("a peer remembers the others over a restart") {
  Scene scene;
  const TemporaryFolder folder;
  folder.write("peer/identity", "");
  Member& one = scene.member(1);
  one.start();
  Member& two = scene.member(2);
  two.options.state_folder = folder.path();
  two.start({at_port(one.port())});
  scene.until_all_linked();
  two.mesh.reset();
  one.mesh->forget(two.id());  // so that it is not the one who dials
  two.start();
  scene.until_all_linked();
  CHECK(two.notes.empty());
}

TEST_CASE("who is forgotten is not dialled any more, and taken when it comes by itself") {
  Scene scene;
  open_pair(scene);
  Member& one = *scene.members[0];
  Member& two = *scene.members[1];
  two.options.listen = at_port(two.port());
  two.mesh.reset();
  one.mesh->forget(two.id());
  two.start();
  scene.until([&] { return one.downs.size() == 1; });
  scene.settle();
  CHECK(one.mesh->up().empty());
  two.mesh.reset();
  two.start({at_port(one.port())});
  scene.until_all_linked();
}

TEST_CASE("silence is asked about, and in the end it is death") {
  Scene scene;
  Member& one = scene.member(1);
  one.options.pace.ping_after = milliseconds(30);
  one.options.pace.dead_after = milliseconds(90);
  one.start();
  const auto hand = linked_hand(scene, one, hello_of(2, 20));
  hand->wait_for<wire::Ping>();
  CHECK(one.downs.empty());
  hand->wait_for_end();
  CHECK(one.downs == std::vector{PeerId{2}});
}

TEST_CASE("who answers is alive, however little it has to say") {
  Scene scene;
  Member& one = scene.member(1);
  one.options.pace.ping_after = milliseconds(30);
  one.options.pace.dead_after = milliseconds(400);
  one.start();
  const auto hand = linked_hand(scene, one, hello_of(2, 20));
  std::size_t answered = 0;
  const Moment begin = scene.loop->now();
  scene.until([&] {
    std::size_t pings = 0;
    for (const auto& message : hand->heard)
      if (const auto* ping = std::get_if<wire::Ping>(&message); ping && ++pings > answered) {
        ++answered;
        hand->say(wire::Pong{ping->number});
      }
    return answered >= 5 && scene.loop->now() - begin > milliseconds(1000);
  });
  CHECK(one.downs.empty());
}

TEST_CASE("a ping is answered") {
  Scene scene;
  Member& one = scene.member(1);
  one.start();
  const auto hand = linked_hand(scene, one, hello_of(2, 20));
  hand->say(wire::Ping{77});
  CHECK(hand->wait_for<wire::Pong>().number == 77);
  CHECK(one.messages.empty());
}

TEST_CASE("a peer that came back before its old link was seen dead takes that one's place") {
  Scene scene;
  Member& one = scene.member(1);
  one.options.pace.pong_within = milliseconds(50);
  one.start();
  const auto old = linked_hand(scene, one, hello_of(2, 20));
  Hand back(*scene.loop);
  back.dial(one.port(), scene.key);
  back.say(hello_of(2, 21));
  CHECK(back.wait_for<wire::LinkHello>().peer == one.id());
  CHECK(old->first<wire::Ping>() != nullptr);
  old->wait_for_end();
  CHECK(one.ups == std::vector{PeerId{2}, PeerId{2}});
  CHECK(one.downs == std::vector{PeerId{2}});
  CHECK(one.mesh->hello_of(PeerId{2})->process == 21);
  CHECK(one.mesh->send(PeerId{2}, wire::Has{5, true}));
  CHECK(back.wait_for<wire::Has>().number == 5);
}

TEST_CASE("of two processes that are one peer the first one stays, and both hear of it") {
  Scene scene;
  Member& one = scene.member(1);
  one.start();
  const auto old = linked_hand(scene, one, hello_of(2, 20, 7001));
  Hand copy(*scene.loop);
  copy.dial(one.port(), scene.key);
  copy.say(hello_of(2, 21, 7002));
  old->say(wire::Pong{old->wait_for<wire::Ping>().number});
  const std::string why = copy.wait_for<wire::LinkRefused>().why;
  CHECK(why.find("127.0.0.1:7001") != std::string::npos);
  CHECK(why.find("127.0.0.1:7002") != std::string::npos);
  CHECK(copy.first<wire::LinkHello>() == nullptr);
  copy.wait_for_end();
  CHECK(one.has_noted("127.0.0.1:7001"));
  CHECK(one.ups.size() == 1);
  CHECK(one.downs.empty());
  // The first is told where its double is.
  const wire::KnownPeers& known = old->wait_for<wire::KnownPeers>();
  REQUIRE(known.peers.size() == 1);
  CHECK(known.peers[0].peer == PeerId{2});
  CHECK(known.peers[0].addresses == std::vector<std::string>{"127.0.0.1:7002"});
}

TEST_CASE("of two peers from copies of one folder the later one is told to go") {
  Scene scene;
  Member& one = scene.member(1);
  one.start();
  scene.settle(milliseconds(20));  // so that one began later by the clock
  Member& copy = scene.member(1);
  copy.start({at_port(one.port())});
  scene.until([&] { return !copy.twins.empty() && !one.notes.empty(); });
  CHECK(copy.twins.size() == 1);
  CHECK(copy.twins[0].message.find(text_at(one.port())) != std::string::npos);
  CHECK(copy.twins[0].message.find(text_at(copy.port())) != std::string::npos);
  CHECK(one.has_noted("another gpl at"));
  CHECK(one.has_noted(text_at(copy.port())));
  CHECK(one.twins.empty());
  CHECK(one.mesh->up().empty());
}

TEST_CASE("a copy that does not know its double is found out by a peer that both know") {
  Scene scene;
  open_pair(scene);
  Member& one = *scene.members[0];
  Member& two = *scene.members[1];
  scene.settle(milliseconds(20));
  Member& copy = scene.member(2);
  copy.start({at_port(one.port())});
  scene.until([&] { return !copy.twins.empty(); });
  CHECK(copy.twins[0].message.find(text_at(two.port())) != std::string::npos);
  CHECK(two.twins.empty());
  CHECK(one.mesh->hello_of(two.id())->port == two.port());
  CHECK(one.downs.empty());
}

TEST_CASE("two clusters with one key stay two, and both say so") {
  Scene scene;
  Member& one = scene.member(1);
  one.start();
  Member& other = scene.member(2);
  other.options.identity.cluster = 0x11c2000000000001;
  other.start({at_port(one.port())});
  scene.until([&] { return !one.notes.empty() && !other.notes.empty(); });
  for (const Member* member : {&one, &other}) {
    CHECK(member->has_noted("7f3a"));
    CHECK(member->has_noted("11c2"));
    CHECK(member->has_noted("gpl worker --join"));
  }
  scene.settle();
  CHECK(one.mesh->up().empty());
  CHECK(other.mesh->up().empty());
  CHECK(other.notes.size() == 1);
}

TEST_CASE("another key is no peer, and that is said once") {
  Scene scene;
  Member& one = scene.member(1);
  one.start();
  Member other(*scene.loop, auth::Key::draw(), 2);
  other.start({at_port(one.port())});
  scene.until([&] { return !other.notes.empty(); });
  scene.settle();
  CHECK(other.notes.size() == 1);
  CHECK(other.has_noted("key"));
  CHECK(one.mesh->up().empty());
}

TEST_CASE("who wants to join is told which cluster this is, and is no peer yet") {
  Scene scene;
  Member& one = scene.member(1);
  one.start();
  Hand joiner(*scene.loop);
  joiner.dial(one.port(), scene.key);
  wire::LinkHello hello;
  hello.name = "new";
  joiner.say(hello);
  CHECK(joiner.wait_for<wire::LinkHello>().cluster == cluster);
  joiner.wait_for_end();
  CHECK(one.ups.empty());
  CHECK(one.notes.empty());
}

TEST_CASE("whoever does not begin with a hello is cut off") {
  Scene scene;
  Member& one = scene.member(1);
  one.options.pace.hello_within = milliseconds(100);
  one.start();
  wire::LinkHello nobody = hello_of(0, 5);
  wire::LinkHello long_name = hello_of(2, 5);
  long_name.name = std::string(2000, 'n');
  for (const auto& bytes :
       {wire::encode(wire::LinkMessage(wire::Ping{1})), wire::encode(wire::LinkMessage(nobody)),
        wire::encode(wire::LinkMessage(long_name)), std::string("\x01\x92 garbage"),
        std::string("\xff"), std::string()}) {
    Hand hand(*scene.loop);
    hand.dial(one.port(), scene.key);
    if (!bytes.empty()) hand.connection->send(bytes);
    hand.wait_for_end();
    CHECK(hand.heard.empty());
  }
  CHECK(one.ups.empty());
}

TEST_CASE("what another says of itself cannot drive a terminal") {
  Scene scene;
  Member& one = scene.member(1);
  one.start();
  wire::LinkHello hello = hello_of(2, 20);
  hello.name = "\x1b[2Jlab\n";
  hello.version = std::string(500, 'v');
  const auto hand = linked_hand(scene, one, hello);
  CHECK(one.mesh->hello_of(PeerId{2})->name == "?[2Jlab?");
  CHECK(one.mesh->hello_of(PeerId{2})->version.size() <= 64);
}

TEST_CASE("a second hello on a link changes nothing") {
  Scene scene;
  Member& one = scene.member(1);
  one.start();
  const auto hand = linked_hand(scene, one, hello_of(2, 20));
  hand->say(hello_of(3, 20));
  hand->say(wire::Has{1, true});
  scene.until([&] { return !one.messages.empty(); });
  CHECK(one.messages.size() == 1);
  CHECK(one.messages[0].first == PeerId{2});
  CHECK(one.mesh->up() == std::vector{PeerId{2}});
}

TEST_CASE("a link that says what makes no sense ends, and the others go on") {
  Scene scene;
  open_pair(scene);
  Member& one = *scene.members[0];
  const auto hand = linked_hand(scene, one, hello_of(3, 30));
  hand->connection->send("\x01\x92\x7f\x90");
  hand->wait_for_end();
  CHECK(one.downs == std::vector{PeerId{3}});
  CHECK(one.has_noted("makes no sense"));
  CHECK(one.is_up(*scene.members[1]));
}

TEST_CASE("whom others tell of is dialled, and lies cost nothing but that") {
  Scene scene;
  Member& one = scene.member(1);
  one.start();
  const HandListener there(*scene.loop, scene.key);
  const auto hand = linked_hand(scene, one, hello_of(2, 20));
  wire::KnownPeers known;
  known.peers.push_back(
      {PeerId{5},
       "five",
       {"not an address", "0.0.0.0:1", "224.0.0.1:1", "host.invalid:1", text_at(there.port())}});
  known.peers.push_back({PeerId{0}, "nobody", {text_at(there.port())}});
  known.peers.push_back({PeerId{6}, "six", {}});
  hand->say(known);
  scene.until([&] { return !there.hands.empty(); });
  // Somebody else is there: that address of it is not tried again.
  CHECK(there.hands[0]->wait_for<wire::LinkHello>().peer == one.id());
  there.hands[0]->say(hello_of(7, 70, there.port()));
  scene.until([&] { return one.mesh->is_up(PeerId{7}); });
  scene.settle();
  CHECK(there.hands.size() == 1);
  CHECK(one.notes.empty());
}

TEST_CASE("who is not there is tried less and less often") {
  Scene scene;
  HandListener there(*scene.loop, scene.key);
  Member& one = scene.member(1);
  one.options.pace.least_pause = milliseconds(20);
  one.options.pace.longest_pause = milliseconds(160);
  one.start({at_port(there.port())});
  std::size_t ended = 0;
  scene.until([&] {
    for (; ended < there.hands.size(); ++ended) there.hands[ended]->connection->close();
    return there.accepted.size() >= 7;
  });
  // A timer is never early: half of each pause is certain.
  std::int64_t least_ms = 20;
  for (std::size_t i = 1; i < there.accepted.size(); ++i) {
    CHECK((there.accepted[i] - there.accepted[i - 1]).count_ms >= least_ms);
    least_ms = std::min<std::int64_t>(least_ms * 2, 80);
  }
}
