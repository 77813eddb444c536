#include "gpl/auth/handshake.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "gpl/auth/noise.h"

using namespace gpl::auth;
using gpl::Code;
using gpl::Error;
using gpl::Result;
using gpl::Status;

namespace {

const Key cluster_key = Key::draw();

Key key_for(Role role) {
  return role == Role::peer ? cluster_key : cluster_key.derive(role).value();
}

Call call_as(Role role, Purpose purpose = Purpose::client) {
  return {key_for(role), role, draw_key_pair(), purpose, spoken_protocols};
}
Answering answering() { return {cluster_key, draw_key_pair(), spoken_protocols}; }

/// What `from` has to say goes to `to`, in just the pieces that it wants.
Status pass(std::string bytes, Handshake& to) {
  while (!bytes.empty() && to.wanted() > 0) {
    REQUIRE(bytes.size() >= to.wanted());
    const std::string piece = bytes.substr(0, to.wanted());
    bytes.erase(0, piece.size());
    if (Status taken = to.take(piece); !taken.ok()) {
      CHECK(to.wanted() == 0);
      CHECK(!to.complete());
      return taken;
    }
  }
  CHECK(bytes.empty());
  return gpl::success();
}

struct Ended {
  Status initiator = gpl::success();
  Status responder = gpl::success();
};

/// Both sides' words are passed on until nothing more is said.
Ended shake(Handshake& initiator, Handshake& responder) {
  Ended ended;
  ended.responder = pass(initiator.output(), responder);
  ended.initiator = pass(responder.output(), initiator);
  if (ended.responder.ok() && ended.initiator.ok())
    ended.responder = pass(initiator.output(), responder);
  CHECK(responder.output().empty());
  return ended;
}

Ended shake(const Call& call, const Answering& with) {
  Handshake initiator = Handshake::initiate(call);
  Handshake responder = Handshake::respond(with);
  return shake(initiator, responder);
}

std::string sealed(Established& side, std::string_view text) {
  std::string out;
  side.channel.sealer.seal(text, out);
  return out;
}
std::string opened(Established& side, std::string_view bytes) {
  std::string out;
  REQUIRE(side.channel.opener.open(bytes, out).ok());
  return out;
}

std::string hello_of(std::uint8_t word, std::uint8_t oldest = 1, std::uint8_t newest = 1) {
  return std::string("gpl") + static_cast<char>(word) + '\0' + static_cast<char>(oldest) + '\0' +
         static_cast<char>(newest);
}

std::string text_of(const Signature& signature) { return {signature.begin(), signature.end()}; }

/// Who has a role's pre-shared key, and says what it likes in message 3.
Status third_message_as(Role role, const KeyPair& own, const std::string& payload) {
  Handshake responder = Handshake::respond(answering());
  const std::string hello = hello_of(static_cast<std::uint8_t>(role));
  NoiseHandshake hostile(Side::initiator, hello, cluster_key.psk(role).value(), own);
  REQUIRE(pass(hello + hostile.write(""), responder).ok());
  REQUIRE(hostile.read(responder.output().substr(8)).ok());
  return pass(hostile.write(payload), responder);
}

/// Who has a client's key, and answers a client as if it were a peer.
Status second_message_as(const KeyPair& own, const std::string& payload) {
  Handshake initiator = Handshake::initiate(call_as(Role::client));
  const std::string said = initiator.output();
  NoiseHandshake hostile(Side::responder, said.substr(0, 8),
                         key_for(Role::client).psk(Role::client).value(), own);
  REQUIRE(hostile.read(said.substr(8)).ok());
  return pass(hello_of(0) + hostile.write(payload), initiator);
}

Code code_of(const Status& status) {
  REQUIRE(!status.ok());
  return status.error().code;
}

bool contains(const Status& status, const std::string& part) {
  REQUIRE(!status.ok());
  return status.error().message.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("each role and purpose that goes with it is agreed on, and a channel each way") {
  for (const auto& [role, purpose] :
       std::vector<std::pair<Role, Purpose>>{{Role::peer, Purpose::client},
                                             {Role::peer, Purpose::link},
                                             {Role::peer, Purpose::relay},
                                             {Role::peer, Purpose::callback},
                                             {Role::client, Purpose::client},
                                             {Role::observer, Purpose::client}}) {
    const Call call = call_as(role, purpose);
    const Answering with = answering();
    Handshake initiator = Handshake::initiate(call);
    Handshake responder = Handshake::respond(with);
    const Ended ended = shake(initiator, responder);
    REQUIRE(ended.initiator.ok());
    REQUIRE(ended.responder.ok());
    REQUIRE(initiator.complete());
    REQUIRE(responder.complete());
    CHECK(initiator.wanted() == 0);
    Established one = initiator.established();
    Established other = responder.established();
    CHECK(one.remote_static == with.own.public_half);
    CHECK(other.remote_static == call.own.public_half);
    for (const Established* side : {&one, &other}) {
      CHECK(side->role == role);
      CHECK(side->purpose == purpose);
      CHECK(side->protocol == 1);
    }
    CHECK(opened(other, sealed(one, "question")) == "question");
    CHECK(opened(one, sealed(other, "answer")) == "answer");
  }
}

TEST_CASE("the cluster key may act in a lesser role") {
  Call call = call_as(Role::observer);
  call.key = cluster_key;
  const Ended ended = shake(call, answering());
  CHECK(ended.initiator.ok());
  CHECK(ended.responder.ok());
}

TEST_CASE("the newest protocol of both is chosen") {
  Call call = call_as(Role::client);
  call.protocols = {2, 5};
  Answering with = answering();
  with.protocols = {1, 4};
  Handshake initiator = Handshake::initiate(call);
  Handshake responder = Handshake::respond(with);
  const Ended ended = shake(initiator, responder);
  REQUIRE(ended.initiator.ok());
  REQUIRE(ended.responder.ok());
  CHECK(initiator.established().protocol == 4);
  CHECK(responder.established().protocol == 4);
}

TEST_CASE("where no protocol is common both sides say so with both ranges") {
  for (const bool newer_there : {true, false}) {
    Call call = call_as(Role::client);
    Answering with = answering();
    (newer_there ? with.protocols : call.protocols) = {3, 7};
    const Ended ended = shake(call, with);
    for (const Status& status : {ended.initiator, ended.responder}) {
      CHECK(code_of(status) == Code::unsupported);
      CHECK(contains(status, "3 to 7"));
      CHECK(contains(status, " 1"));
    }
    CHECK(contains(ended.initiator, newer_there ? "newer gpl here" : "newer gpl there"));
    CHECK(contains(ended.responder, newer_there ? "newer gpl there" : "newer gpl here"));
  }
}

TEST_CASE("a range that ends before it begins meets none") {
  Call call = call_as(Role::client);
  call.protocols = {2, 1};
  CHECK(code_of(shake(call, answering()).responder) == Code::unsupported);
}

TEST_CASE("a key of another cluster is refused, and both sides say so") {
  for (const Role role : {Role::peer, Role::client, Role::observer}) {
    Call call = call_as(role);
    call.key = role == Role::peer ? Key::draw() : Key::draw().derive(role).value();
    const Ended ended = shake(call, answering());
    CHECK(code_of(ended.responder) == Code::denied);
    CHECK(code_of(ended.initiator) == Code::denied);
    CHECK(contains(ended.initiator, "gpl key set"));
    CHECK(contains(ended.initiator, role == Role::peer
                                        ? "gpl key show"
                                        : "gpl key derive " + std::string(name_of(role))));
  }
}

TEST_CASE("a stranger is told the hello and nothing else") {
  Handshake responder = Handshake::respond(answering());
  CHECK(!pass(hello_of(2) + std::string(48, 'x'), responder).ok());
  CHECK(responder.output() == hello_of(2));
  CHECK(responder.output().empty());
}

TEST_CASE("who says no hello of gpl is told nothing") {
  for (const std::string& said :
       {std::string("GET / HT"), std::string(8, '\0'), std::string("gpm\1\0\1\0\1", 8)}) {
    Handshake responder = Handshake::respond(answering());
    CHECK(code_of(pass(said, responder)) == Code::invalid);
    CHECK(responder.output().empty());
    Handshake initiator = Handshake::initiate(call_as(Role::client));
    (void)initiator.output();
    CHECK(code_of(pass(said, initiator)) == Code::invalid);
    CHECK(initiator.output().empty());
  }
}

TEST_CASE("a client's key does not open the door of another role") {
  for (const Role posing : {Role::peer, Role::observer}) {
    Handshake responder = Handshake::respond(answering());
    const std::string hello = hello_of(static_cast<std::uint8_t>(posing));
    NoiseHandshake client(Side::initiator, hello, key_for(Role::client).psk(Role::client).value(),
                          draw_key_pair());
    CHECK(code_of(pass(hello + client.write(""), responder)) == Code::denied);
    CHECK(responder.output().size() == 8);
  }
}

TEST_CASE("a role that there is not is refused") {
  for (const std::uint8_t word : {std::uint8_t{0}, std::uint8_t{4}, std::uint8_t{255}}) {
    Handshake responder = Handshake::respond(answering());
    CHECK(code_of(pass(hello_of(word) + std::string(48, 'x'), responder)) == Code::denied);
    CHECK(responder.output() == hello_of(2));
  }
}

TEST_CASE("who connects as a peer must have its static key signed by this cluster") {
  const KeyPair own = draw_key_pair();
  const std::string link(1, '\2');
  CHECK(third_message_as(Role::peer, own, link + text_of(cluster_key.sign(own.public_half).value()))
            .ok());
  for (const Signature& signature : {Signature{}, Key::draw().sign(own.public_half).value(),
                                     cluster_key.sign(draw_key_pair().public_half).value()})
    CHECK(code_of(third_message_as(Role::peer, own, link + text_of(signature))) == Code::denied);
}

TEST_CASE("who answers as a peer must have its static key signed by this cluster") {
  const KeyPair own = draw_key_pair();
  CHECK(second_message_as(own, hello_of(0) + text_of(cluster_key.sign(own.public_half).value()))
            .ok());
  for (const Signature& signature : {Signature{}, Key::draw().sign(own.public_half).value(),
                                     cluster_key.sign(draw_key_pair().public_half).value()}) {
    const Status status = second_message_as(own, hello_of(0) + text_of(signature));
    CHECK(code_of(status) == Code::denied);
    CHECK(contains(status, "does not prove that it is a peer"));
  }
}

TEST_CASE("a client that asks for a peer's purpose, or for none that there is, is denied") {
  for (const char purpose : {'\2', '\3', '\4', '\0', '\5', '\x7f'})
    CHECK(code_of(third_message_as(Role::client, draw_key_pair(), std::string(1, purpose))) ==
          Code::denied);
  CHECK(third_message_as(Role::client, draw_key_pair(), "\1").ok());
}

TEST_CASE("a hello in message 2 that is not the one that was said is denied") {
  const KeyPair own = draw_key_pair();
  const std::string signature = text_of(cluster_key.sign(own.public_half).value());
  for (const std::string& hello : {hello_of(0, 1, 2), hello_of(1), std::string(8, '\0')})
    CHECK(code_of(second_message_as(own, hello + signature)) == Code::denied);
}

TEST_CASE("a hello of the responder whose range was changed on its way is found") {
  Call newer = call_as(Role::client);
  newer.protocols = {1, 3};
  Handshake initiator = Handshake::initiate(newer);
  Answering with = answering();
  with.protocols = {1, 3};
  Handshake responder = Handshake::respond(with);
  REQUIRE(pass(initiator.output(), responder).ok());
  const std::string answer = responder.output();
  CHECK(code_of(pass(hello_of(0, 1, 2) + answer.substr(8), initiator)) == Code::denied);
}

TEST_CASE("a byte changed anywhere ends the handshake, whoever said it") {
  // 0 and 2: of the initiator; 1: of the responder.
  for (int message = 0; message < 3; ++message) {
    std::size_t length = 1;
    for (std::size_t at = 0; at < length; ++at) {
      CAPTURE(message);
      CAPTURE(at);
      Handshake initiator = Handshake::initiate(call_as(Role::peer, Purpose::link));
      Handshake responder = Handshake::respond(answering());
      Status status = gpl::success();
      for (int i = 0; i <= message; ++i) {
        std::string said = (i % 2 == 0 ? initiator : responder).output();
        if (i == message) {
          length = said.size();
          said[at] = static_cast<char>(said[at] ^ 2);
        }
        status = pass(said, i % 2 == 0 ? responder : initiator);
        if (i < message) REQUIRE(status.ok());
      }
      CHECK(!status.ok());
    }
    CHECK(length >= 8 + 48);
  }
}

TEST_CASE("what an initiator said once, said again, gets no further than message 2") {
  const Call call = call_as(Role::peer, Purpose::link);
  Handshake initiator = Handshake::initiate(call);
  const Answering with = answering();
  Handshake responder = Handshake::respond(with);
  const std::string first = initiator.output();
  REQUIRE(pass(first, responder).ok());
  REQUIRE(pass(responder.output(), initiator).ok());
  const std::string third = initiator.output();
  REQUIRE(pass(third, responder).ok());

  Handshake again = Handshake::respond(with);
  REQUIRE(pass(first, again).ok());
  CHECK(!again.output().empty());
  CHECK(code_of(pass(third, again)) == Code::denied);
}

TEST_CASE("an answer recorded from another connection is denied") {
  const Call call = call_as(Role::client);
  const Answering with = answering();
  Handshake one = Handshake::initiate(call);
  Handshake other = Handshake::initiate(call);
  Handshake responder = Handshake::respond(with);
  REQUIRE(pass(one.output(), responder).ok());
  (void)other.output();
  CHECK(code_of(pass(responder.output(), other)) == Code::denied);
}

TEST_CASE("no more is wanted than the message that is awaited, and none is over the limit") {
  Handshake initiator = Handshake::initiate(call_as(Role::peer));
  Handshake responder = Handshake::respond(answering());
  CHECK(initiator.wanted() == 8);
  CHECK(responder.wanted() == 8);
  std::string said = initiator.output();
  CHECK(said.size() == 8 + 48);
  REQUIRE(responder.take(said.substr(0, 8)).ok());
  CHECK(responder.output().empty());
  CHECK(responder.wanted() == 48);
  REQUIRE(responder.take(said.substr(8)).ok());
  CHECK(responder.wanted() == 129);
  said = responder.output();
  CHECK(said.size() == 8 + 168);
  REQUIRE(initiator.take(said.substr(0, 8)).ok());
  CHECK(initiator.wanted() == 168);
  REQUIRE(initiator.take(said.substr(8)).ok());
  CHECK(initiator.complete());
  CHECK(!responder.complete());
}
