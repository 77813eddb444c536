// A session with peers of other machines, over TCP.
#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fake_peer.h"
#include "gpl/client/session.h"
#include "gpl/net/address.h"

using gpl::Code;
using gpl::JobId;
using gpl::client::PeerPlace;
using gpl::client::Session;
using gpl::client::Voice;
using gpl::net::PeerAddress;
namespace auth = gpl::auth;
namespace wire = gpl::wire;

namespace {

const Voice silent(true);

void done(FakePeer& peer, const wire::ClientMessage& message) {
  peer.say(message.question, wire::Done{});
}

void hang_up(FakePeer& peer, const wire::ClientMessage&) { peer.hang_up(); }

PeerPlace far_place(const auth::Key& key, std::vector<PeerAddress> addresses) {
  PeerPlace place;
  place.addresses = std::move(addresses);
  place.proof = gpl::client::Proof{key, auth::draw_key_pair()};
  place.patience = {};
  place.patience_again = gpl::seconds(20);
  place.version = "test";
  return place;
}

/// A port of loopback where nobody listens.
PeerAddress nobody() {
  const auth::Key key = auth::Key::draw();
  FakePeer gone(key, 0, done);
  return gone.address();
}

}  // namespace

TEST_CASE("a peer of another machine is asked by its name, as who holds the key") {
  const auth::Key key = auth::Key::draw();
  FakePeer peer(key, 0, done);
  const PeerPlace place = far_place(key, {{"localhost", peer.address().port}});
  const auto session = Session::connect(place, silent);
  REQUIRE_MESSAGE(session.ok(), (session.ok() ? "" : session.error().message));
  CHECK(session.value()->do_it(wire::CancelJob{JobId{3}, {}}).ok());
  peer.stop();
  CHECK(peer.callers() == std::vector<auth::KeyBytes>{place.proof->own.public_half});
  CHECK(peer.roles() == std::vector<auth::Role>{auth::Role::peer});
}

TEST_CASE("a derived key is shown with its own role") {
  const auth::Key key = auth::Key::draw();
  const auto derived = key.derive(auth::Role::observer);
  REQUIRE(derived.ok());
  FakePeer peer(key, 0, done);
  const auto session = Session::connect(far_place(derived.value(), {peer.address()}), silent);
  REQUIRE(session.ok());
  CHECK(session.value()->do_it(wire::AskHealth{}).ok());
  peer.stop();
  CHECK(peer.roles() == std::vector<auth::Role>{auth::Role::observer});
}

TEST_CASE("of several addresses the first that answers is taken") {
  const auth::Key key = auth::Key::draw();
  FakePeer peer(key, 0, done);
  const auto session = Session::connect(
      far_place(key, {nobody(), {"no-such-host.invalid", 1}, peer.address()}), silent);
  REQUIRE(session.ok());
  CHECK(session.value()->do_it(wire::AskHealth{}).ok());
}

TEST_CASE("when nobody answers, every address is told with its own reason") {
  const auth::Key key = auth::Key::draw();
  const PeerAddress one = nobody();
  const auto session = Session::connect(far_place(key, {one, {"no-such-host.invalid", 1}}), silent);
  REQUIRE_FALSE(session.ok());
  CHECK(session.error().code == Code::not_found);
  const std::string& message = session.error().message;
  CHECK(message.find(gpl::net::to_text(one)) != std::string::npos);
  CHECK(message.find("no-such-host.invalid") != std::string::npos);
}

TEST_CASE("a key that is refused is told at once, with the address") {
  FakePeer peer(auth::Key::draw(), 0, done);
  PeerPlace place = far_place(auth::Key::draw(), {nobody(), peer.address()});
  place.patience = gpl::seconds(3600);
  const auto session = Session::connect(place, silent);
  REQUIRE_FALSE(session.ok());
  CHECK(session.error().code == Code::denied);
  CHECK(session.error().message.find(gpl::net::to_text(peer.address())) != std::string::npos);
}

TEST_CASE("a peer that speaks another protocol is passed over for one that does not") {
  const auth::Key key = auth::Key::draw();
  FakePeer newer(key, 0, done, wire::Hello{7, 9, "9.1"});
  FakePeer peer(key, 0, done);
  CHECK(Session::connect(far_place(key, {newer.address(), peer.address()}), silent).ok());
  const auto session = Session::connect(far_place(key, {newer.address()}), silent);
  REQUIRE_FALSE(session.ok());
  CHECK(session.error().code == Code::unsupported);
  CHECK(session.error().message.find("9.1") != std::string::npos);
}

TEST_CASE("when a peer is lost the session goes on with another one of its cluster") {
  const auth::Key key = auth::Key::draw();
  FakePeer first(key, 0, hang_up);
  FakePeer second(key, 0, [](FakePeer& self, const wire::ClientMessage& message) {
    self.say(message.question, wire::Submitted{JobId{4}});
  });
  const auto session =
      Session::connect(far_place(key, {first.address(), second.address()}), silent);
  REQUIRE(session.ok());
  session.value()->ask(wire::AskHealth{}, [](wire::Answer&&) {});
  first.stop();
  const auto answer = session.value()->ask_for<wire::Submitted>(wire::RerunJob{{1, 2}, JobId{3}});
  REQUIRE(answer.ok());
  CHECK(answer.value().job == JobId{4});
}

TEST_CASE("a session that lasts learns where else it could go on") {
  const auth::Key key = auth::Key::draw();
  FakePeer second(key, 0, [](FakePeer& self, const wire::ClientMessage& message) {
    self.say(message.question, wire::Submitted{JobId{4}});
  });
  std::atomic<bool> told = false;
  FakePeer first(key, 0, [&](FakePeer& self, const wire::ClientMessage& message) {
    if (!std::holds_alternative<wire::AskCluster>(message.body)) return;
    wire::ClusterStatus status;
    for (const std::string& address :
         {std::string(), std::string("[fe80::1%eth0]:7457"), gpl::net::to_text(second.address())}) {
      status.peers.emplace_back();
      status.peers.back().address = address;
    }
    self.say(message.question, std::move(status));
    self.hang_up();
    told = true;
  });
  PeerPlace place = far_place(key, {first.address()});
  place.before_learning = gpl::milliseconds(1);
  const auto session = Session::connect(place, silent);
  REQUIRE(session.ok());
  std::optional<JobId> job;
  session.value()->ask(wire::RerunJob{{1, 2}, JobId{3}}, [&](wire::Answer&& answer) {
    if (const auto* submitted = std::get_if<wire::Submitted>(&answer)) job = submitted->job;
  });
  // The first one hangs up once it has told, and is gone before it is asked again.
  REQUIRE(session.value()->run_until([&] { return told.load(); }).ok());
  first.stop();
  REQUIRE(session.value()->run_until([&] { return job.has_value(); }).ok());
  CHECK(*job == JobId{4});
}

TEST_CASE("when all are gone the wait ends with their names") {
  const auth::Key key = auth::Key::draw();
  FakePeer peer(key, 0, hang_up);
  PeerPlace place = far_place(key, {peer.address()});
  place.patience_again = gpl::milliseconds(60);
  const auto session = Session::connect(place, silent);
  REQUIRE(session.ok());
  const std::string where = gpl::net::to_text(peer.address());
  peer.stop();
  const auto answer = session.value()->do_it(wire::AskHealth{});
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.error().code == Code::not_found);
  CHECK(answer.error().message.find(where) != std::string::npos);
}
