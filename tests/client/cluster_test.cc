#include "gpl/client/cluster.h"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

#include "fake_peer.h"
#include "gpl/net/address.h"
#include "temporary_folder.h"

using gpl::Code;
using gpl::client::ClusterChoice;
using gpl::client::find_cluster;
using gpl::client::Voice;
namespace auth = gpl::auth;
namespace wire = gpl::wire;

namespace {

const Voice silent(true);

void done(FakePeer& peer, const wire::ClientMessage& message) {
  peer.say(message.question, wire::Done{});
}

/// A user's folders, without anything.
struct Home {
  TemporaryFolder folder;
  gpl::host::Folders folders{folder / "configuration", folder / "state"};

  void keep(const auth::Key& key) const {
    folder.write("configuration/cluster.key", key.text() + "\n", 0600);
  }
  /// Never by mDNS: what else is on this network is not the test's.
  void configure(const std::string& peers) const {
    folder.write("configuration/gpl.toml", "mdns = false\npeers = [" + peers + "]\n");
  }
  gpl::Result<std::unique_ptr<gpl::client::Session>> find(const std::string& peers = {}) const {
    return find_cluster({false, peers, "test"}, folders, silent);
  }
};

std::string quoted(const gpl::net::PeerAddress& address) {
  return "\"" + gpl::net::to_text(address) + "\"";
}

bool has(const gpl::Error& error, const std::string& words) {
  return error.message.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("without a key and a peer there is no cluster, and nothing is made") {
  const Home home;
  const auto found = home.find();
  REQUIRE(found.ok());
  CHECK(found.value() == nullptr);
  CHECK(home.folder.empty());
}

TEST_CASE("peers that are named need a key, and the way to one is told") {
  const Home home;
  const auto found = home.find("localhost:7000");
  REQUIRE_FALSE(found.ok());
  CHECK(found.error().code == Code::denied);
  CHECK(has(found.error(), "gpl key set"));
  CHECK(home.find("host:notaport").error().code == Code::invalid);
}

TEST_CASE("peers that are named are asked, whatever else there is") {
  const Home home;
  const auth::Key key = auth::Key::draw();
  home.keep(key);
  home.configure("\"no-such-host.invalid\"");
  FakePeer peer(key, 0, done);
  const auto found = home.find("127.0.0.1:" + std::to_string(peer.address().port));
  REQUIRE(found.ok());
  CHECK(found.value()->do_it(wire::AskHealth{}).ok());
}

TEST_CASE("peers of the configuration are asked where there is a key") {
  const Home home;
  const auth::Key key = auth::Key::draw();
  FakePeer peer(key, 0, done);
  home.configure(quoted(peer.address()));
  const auto without = home.find();
  REQUIRE(without.ok());
  CHECK(without.value() == nullptr);
  home.keep(key);
  const auto found = home.find();
  REQUIRE(found.ok());
  REQUIRE(found.value() != nullptr);
  CHECK(found.value()->do_it(wire::AskHealth{}).ok());
}

TEST_CASE("this machine's peer comes before those of the configuration") {
  const Home home;
  const auth::Key key = auth::Key::draw();
  home.keep(key);
  FakePeer far(key, 0, done);
  home.configure(quoted(far.address()));
  home.folder.write("state/x", "");
  FakePeer own(home.folder / "state/peer.sock", done);
  const auto found = home.find();
  REQUIRE(found.ok());
  CHECK(found.value()->do_it(wire::AskHealth{}).ok());
  CHECK(own.asked().size() == 1);
  CHECK(far.asked().empty());
}

TEST_CASE("a socket of a dead peer does not keep a client from the others") {
  const Home home;
  const auth::Key key = auth::Key::draw();
  home.keep(key);
  FakePeer far(key, 0, done);
  home.configure(quoted(far.address()));
  home.folder.write("state/peer.sock", "");
  const auto found = home.find();
  REQUIRE_MESSAGE(found.ok(), (found.ok() ? "" : found.error().message));
  CHECK(found.value()->do_it(wire::AskHealth{}).ok());
}

TEST_CASE("a key and nobody who answers is an error with what was tried") {
  const Home home;
  home.keep(auth::Key::draw());
  home.configure("\"no-such-host.invalid\"");
  const auto found = home.find();
  REQUIRE_FALSE(found.ok());
  CHECK(found.error().code == Code::not_found);
  CHECK(has(found.error(), "no-such-host.invalid"));
  CHECK(has(found.error(), "cluster.key"));
  CHECK(has(found.error(), "--local"));
}

TEST_CASE("a key that the configuration's peers refuse is told as such") {
  const Home home;
  home.keep(auth::Key::draw());
  FakePeer peer(auth::Key::draw(), 0, done);
  home.configure(quoted(peer.address()));
  const auto found = home.find();
  REQUIRE_FALSE(found.ok());
  CHECK(found.error().code == Code::denied);
  CHECK(has(found.error(), gpl::net::to_text(peer.address())));
}

TEST_CASE("a peer in the configuration that is no address is told with the file") {
  const Home home;
  home.keep(auth::Key::draw());
  home.configure("\"lab1:notaport\"");
  const auto found = home.find();
  REQUIRE_FALSE(found.ok());
  CHECK(found.error().code == Code::invalid);
  CHECK(has(found.error(), "gpl.toml"));
  CHECK(has(found.error(), "lab1:notaport"));
}

TEST_CASE("--local asks nobody") {
  const Home home;
  home.keep(auth::Key::draw());
  const auto found = find_cluster({true, "lab1", "test"}, home.folders, silent);
  REQUIRE(found.ok());
  CHECK(found.value() == nullptr);
}
