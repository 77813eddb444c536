#include "gpl/peer/tree_pull.h"

#include <doctest/doctest.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "far_peer.h"
#include "gpl/peer/tree_pins.h"
#include "parts.h"

using namespace gpl;
using namespace gpl::peer;
using gpl::peer::test::FarPeer;
using gpl::peer::test::FarPeers;

namespace {

constexpr std::uint64_t my_pin = 5;

struct Scene : Parts {
  FarPeers peers{*loop};
  std::optional<TreePins> pins{std::in_place, *pool, store};
  std::optional<FarSessions> far{std::in_place, *loop, peers.connect(), "1.0", seconds(60)};
  std::vector<PeerId> holders;
  int looks = 0;
  std::optional<TreePulls> pulls;
  artifact::ChunkStore other = open_store(folder / "other");
  artifact::Manifest manifest;
  ContentId tree;
  std::vector<Status> done;

  explicit Scene(PullLimits limits = {seconds(60), Duration{}, Duration{}, 8}) {
    pulls.emplace(
        TreePulls::Around{*loop, *pool, store, *pins, *far,
                          [this](const ContentId&, std::function<void(std::vector<PeerId>)> told) {
                            ++looks;
                            loop->post([this, told = std::move(told)] { told(holders); });
                          }},
        limits);
    std::vector<std::string> contents;
    for (char name = 'a'; name < 'a' + 20; ++name) {
      contents.push_back(std::string(100, name));
      manifest.entries.push_back(tree_file(std::string(1, name), contents.back()));
    }
    tree = put_tree(other, manifest, contents);
  }
  ~Scene() { pulls.reset(); }

  /// Answers as a peer with that tree does, the manifest in small pieces.
  void serve(FarPeer& peer) {
    peer.answers = [this, &peer](std::uint32_t number, const wire::Question& asked) {
      if (const auto* fetch = std::get_if<wire::FetchManifest>(&asked)) {
        const std::string all = encoded(manifest);
        const std::string piece = all.substr(fetch->offset, 100);
        return peer.say(number, wire::TreePiece{piece, fetch->offset + piece.size() == all.size()});
      }
      if (const auto* fetch = std::get_if<wire::FetchChunk>(&asked)) give(peer, number, fetch->id);
    };
  }
  void give(FarPeer& peer, std::uint32_t number, const ContentId& id) {
    const auto chunk = other.chunk(*artifact::Digest::from_bytes(id));
    REQUIRE(chunk.ok());
    peer.say(number, wire::ChunkIs{chunk.value().chunk.bytes()});
  }
  void bring(std::optional<PeerId> from, std::uint64_t pin = my_pin) {
    pulls->bring(tree, from, pin, [this](Status status) { done.push_back(std::move(status)); });
  }
  bool whole() const { return store.is_whole(*artifact::Digest::from_bytes(tree)).value(); }
  std::set<std::string> owners() {
    bool settled = false;
    pins->then([&] { settled = true; });
    until([&] { return settled; });
    std::set<std::string> owners;
    const auto there = store.pins();
    REQUIRE(there.ok());
    for (const artifact::Pin& pin : there.value()) owners.insert(pin.owner);
    return owners;
  }
  void until_done(std::size_t count = 1) {
    until([&] { return done.size() >= count; });
  }
};

}  // namespace

TEST_CASE("a tree is brought from the peer that is named, whole, and pinned until its release") {
  Scene scene;
  scene.serve(scene.peers.at(2));
  scene.bring(PeerId{2});
  CHECK(scene.done.empty());
  scene.until_done();
  CHECK(scene.done[0].ok());
  CHECK(scene.whole());
  CHECK(scene.looks == 0);
  CHECK(scene.peers.at(2).asked<wire::FetchChunk>().size() == 20);
  CHECK(scene.owners() == std::set<std::string>{"client-5"});
  scene.pulls->release(my_pin);
  CHECK(scene.owners().empty());
}

TEST_CASE("what is here is not fetched, and of a whole tree nobody is asked") {
  Scene scene;
  scene.serve(scene.peers.at(2));
  {
    auto intake = scene.store.intake();
    REQUIRE(intake.value().put(artifact::Chunk::of(std::string(100, 'c'))).ok());
    REQUIRE(intake.value().commit().ok());
  }
  scene.bring(PeerId{2});
  scene.until_done();
  CHECK(scene.peers.at(2).asked<wire::FetchChunk>().size() == 19);
  const std::size_t heard = scene.peers.at(2).heard.size();
  scene.bring(PeerId{2}, 6);
  scene.until_done(2);
  CHECK(scene.done[1].ok());
  CHECK(scene.peers.at(2).heard.size() == heard);
  CHECK(scene.owners() == std::set<std::string>{"client-5", "client-6"});
}

TEST_CASE("without a name it is looked for who has it") {
  Scene scene;
  scene.serve(scene.peers.at(3));
  scene.holders = {PeerId{3}};
  scene.bring({});
  scene.until_done();
  CHECK(scene.done[0].ok());
  CHECK(scene.looks == 1);
}

TEST_CASE("at most some chunks are asked for at a time") {
  Scene scene({seconds(60), Duration{}, Duration{}, 3});
  FarPeer& peer = scene.peers.at(2);
  scene.serve(peer);
  const auto serving = peer.answers;
  std::vector<std::uint32_t> open;
  peer.answers = [&](std::uint32_t number, const wire::Question& asked) {
    if (!std::holds_alternative<wire::FetchChunk>(asked)) return serving(number, asked);
    open.push_back(number);
  };
  scene.bring(PeerId{2});
  scene.until([&] { return open.size() >= 3; });
  run_ready(*scene.loop);
  CHECK(open.size() == 3);
  serving(open[0], peer.asked<wire::FetchChunk>()[0].second);
  scene.until([&] { return open.size() >= 4; });
  run_ready(*scene.loop);
  CHECK(open.size() == 4);
}

TEST_CASE("a holder that breaks off is followed by another, and what came is not asked for again") {
  Scene scene;
  FarPeer& first = scene.peers.at(2);
  scene.serve(first);
  const auto serving = first.answers;
  int given = 0;
  first.answers = [&](std::uint32_t number, const wire::Question& asked) {
    if (std::holds_alternative<wire::FetchChunk>(asked) && ++given > 12) {
      if (given == 13) first.hang_up();
      return;
    }
    serving(number, asked);
  };
  scene.serve(scene.peers.at(3));
  scene.holders = {PeerId{3}};
  scene.bring(PeerId{2});
  scene.until_done();
  CHECK(scene.done[0].ok());
  CHECK(scene.whole());
  CHECK(scene.peers.at(3).asked<wire::FetchManifest>().empty());
  const std::size_t asked = scene.peers.at(3).asked<wire::FetchChunk>().size();
  CHECK(asked >= 8);
  CHECK(asked <= 15);  // eight are asked for at a time: five had come by then
}

TEST_CASE("a holder that is silent is followed by another") {
  Scene scene({milliseconds(1), seconds(60), Duration{}, 8});
  scene.peers.at(2);
  scene.serve(scene.peers.at(3));
  scene.holders = {PeerId{3}};
  scene.bring(PeerId{2});
  scene.until_done();
  CHECK(scene.done[0].ok());
  CHECK_FALSE(scene.peers.at(3).heard.empty());
}

TEST_CASE("a chunk that is not what it is said to be is not kept, and another holder is asked") {
  Scene scene;
  FarPeer& liar = scene.peers.at(2);
  scene.serve(liar);
  const auto serving = liar.answers;
  liar.answers = [&](std::uint32_t number, const wire::Question& asked) {
    if (!std::holds_alternative<wire::FetchChunk>(asked)) return serving(number, asked);
    liar.say(number, wire::ChunkIs{"no"});
  };
  scene.serve(scene.peers.at(3));
  scene.holders = {PeerId{3}};
  scene.bring(PeerId{2});
  scene.until_done();
  CHECK(scene.done[0].ok());
  CHECK(scene.whole());
  CHECK(scene.peers.at(3).asked<wire::FetchChunk>().size() == 20);
}

TEST_CASE("a manifest of another tree is not taken") {
  Scene scene;
  FarPeer& liar = scene.peers.at(2);
  liar.answers = [&](std::uint32_t number, const wire::Question&) {
    liar.say(number, wire::TreePiece{encoded({{tree_file("x", "other")}}), true});
  };
  scene.serve(scene.peers.at(3));
  scene.holders = {PeerId{3}};
  scene.bring(PeerId{2});
  scene.until_done();
  CHECK(scene.done[0].ok());
  CHECK(liar.asked<wire::FetchChunk>().empty());
}

TEST_CASE("a tree that nobody has is given up after a while, and is not pinned then") {
  Scene scene;
  scene.bring({});
  scene.until_done();
  CHECK(scene.done[0].error().code == Code::not_found);
  CHECK(scene.looks >= 1);
  CHECK(scene.owners().empty());
  scene.pulls->bring("short", {}, my_pin, [&](Status status) { scene.done.push_back(status); });
  CHECK(scene.done.size() == 1);
  scene.until_done(2);
  CHECK(scene.done[1].error().code == Code::invalid);
}

TEST_CASE("it is looked for again while there is time") {
  Scene scene({seconds(60), seconds(600), Duration{}, 8});
  scene.serve(scene.peers.at(3));
  scene.bring({});
  scene.until([&] { return scene.looks >= 3; });
  CHECK(scene.done.empty());
  scene.holders = {PeerId{3}};
  scene.until_done();
  CHECK(scene.done[0].ok());
}

TEST_CASE("two who ask for one tree share the work, and each has it pinned") {
  Scene scene;
  scene.serve(scene.peers.at(2));
  scene.bring(PeerId{2});
  scene.bring(PeerId{2}, 6);
  scene.until_done(2);
  CHECK(scene.done[0].ok());
  CHECK(scene.done[1].ok());
  CHECK(scene.peers.at(2).asked<wire::FetchChunk>().size() == 20);
  CHECK(scene.owners() == std::set<std::string>{"client-5", "client-6"});
}

TEST_CASE("what is released while it comes is given up unless another waits for it") {
  Scene scene;
  FarPeer& peer = scene.peers.at(2);
  scene.bring(PeerId{2});
  scene.until([&] { return !peer.heard.empty(); });
  scene.pulls->release(my_pin);
  CHECK(scene.owners().empty());
  scene.serve(peer);
  scene.bring(PeerId{2}, 6);
  scene.bring(PeerId{2}, 7);
  scene.pulls->release(6);
  scene.until_done();
  run_ready(*scene.loop);
  CHECK(scene.done.size() == 1);
  CHECK(scene.done[0].ok());
  CHECK(scene.owners() == std::set<std::string>{"client-7"});
}
