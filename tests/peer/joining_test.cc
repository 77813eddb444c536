#include "gpl/peer/joining.h"

#include <doctest/doctest.h>

#include <optional>
#include <string>

#include "mesh_scene.h"

using namespace mesh_scene;
using peer::ClusterSearch;
using peer::FoundCluster;

namespace {

struct Search {
  std::vector<FoundCluster> found;
  std::vector<std::string> notes;
  std::optional<ClusterSearch> search;

  Search(net::Loop& loop, const auth::Key& key, std::vector<net::PeerAddress> seeds) {
    ClusterSearch::Told told;
    told.found = [this](FoundCluster cluster) { found.push_back(std::move(cluster)); };
    told.note = [this](const std::string& note) { notes.push_back(note); };
    search.emplace(
        loop, ClusterSearch::Options{key, auth::draw_key_pair(), std::move(seeds), false, "0.1.0"},
        std::move(told));
  }
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;
};

}  // namespace

TEST_CASE("a cluster is found by one of its peers") {
  Scene scene;
  Member& one = scene.member(1);
  one.start();
  Search search(*scene.loop, scene.key, {at_port(one.port())});
  scene.until([&] { return !search.found.empty(); });
  CHECK(search.found[0].cluster == cluster);
  CHECK(search.found[0].seed == at_port(one.port()));
  CHECK(search.found[0].name == "m1");
  scene.settle();
  CHECK(search.found.size() == 1);
  CHECK(search.notes.empty());
  CHECK(one.ups.empty());
  CHECK(one.notes.empty());
}

TEST_CASE("a cluster is found by a name too, and by the seed that answers") {
  Scene scene;
  Member& one = scene.member(1);
  one.start();
  const std::uint16_t nobody = free_port(*scene.loop);
  Search search(*scene.loop, scene.key, {at_port(nobody), {"localhost", one.port()}});
  scene.until([&] { return !search.found.empty(); });
  CHECK(search.found[0].cluster == cluster);
  CHECK(search.found[0].seed.port == one.port());
}

TEST_CASE("the search goes on until a peer is there, and says once that none is") {
  Scene scene;
  Member& one = scene.member(1);
  const std::uint16_t port = free_port(*scene.loop);
  Search search(*scene.loop, scene.key, {at_port(port)});
  scene.until([&] { return !search.notes.empty(); });
  CHECK(search.notes[0].find(std::to_string(port)) != std::string::npos);
  one.options.listen = at_port(port);
  one.start();
  scene.until([&] { return !search.found.empty(); });
  CHECK(search.notes.size() == 1);
}

TEST_CASE("a cluster with another key is not it, and that is said") {
  Scene scene;
  Member& one = scene.member(1);
  one.start();
  Search search(*scene.loop, auth::Key::draw(), {at_port(one.port())});
  scene.until([&] { return !search.notes.empty(); });
  CHECK(search.notes[0].find("key") != std::string::npos);
  scene.settle();
  CHECK(search.found.empty());
  CHECK(search.notes.size() == 1);
}

TEST_CASE("who does not say which cluster it is of, or refuses, is not it") {
  Scene scene;
  HandListener there(*scene.loop, scene.key);
  Search search(*scene.loop, scene.key, {at_port(there.port())});
  scene.until([&] { return there.hands.size() == 1; });
  const wire::LinkHello& hello = there.hands[0]->wait_for<wire::LinkHello>();
  CHECK(hello.cluster == 0);
  CHECK(hello.peer == PeerId{0});
  there.hands[0]->say(wire::LinkRefused{"not \x1b[2J now"});
  scene.until([&] { return search.notes.size() == 1; });
  CHECK(search.notes[0].ends_with("not ?[2J now"));
  scene.until([&] { return there.hands.size() == 2; });
  there.hands[1]->say(wire::Ping{1});
  scene.until([&] { return search.notes.size() == 2; });
  CHECK(search.found.empty());
}

TEST_CASE("a search may be dropped by its own call, and says nothing after") {
  Scene scene;
  Member& one = scene.member(1);
  one.start();
  std::optional<ClusterSearch> search;
  bool is_found = false;
  ClusterSearch::Told told;
  told.found = [&](const FoundCluster& found) {
    search.reset();
    is_found = found.cluster == cluster;
  };
  search.emplace(*scene.loop,
                 ClusterSearch::Options{
                     scene.key, auth::draw_key_pair(), {at_port(one.port())}, false, "0.1.0"},
                 std::move(told));
  scene.until([&] { return is_found; });
  Search dropped(*scene.loop, scene.key, {at_port(one.port())});
  dropped.search.reset();
  scene.settle();
  CHECK(dropped.found.empty());
  CHECK(dropped.notes.empty());
}
