#include "gpl/auth/handshake.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "cipher.h"
#include "gpl/auth/noise.h"
#include "hello.h"
#include "sodium_bytes.h"

namespace gpl::auth {
namespace {

constexpr std::size_t signature_bytes = std::tuple_size_v<Signature>;
constexpr std::size_t message_1_bytes = 32 + tag_bytes;
constexpr std::size_t message_2_payload_bytes = hello_bytes + signature_bytes;
constexpr std::size_t message_2_bytes = 32 + 32 + tag_bytes + message_2_payload_bytes + tag_bytes;
constexpr std::size_t message_3_payload_bytes(Role role) {
  return role == Role::peer ? 1 + signature_bytes : 1;
}
constexpr std::size_t message_3_bytes(Role role) {
  return 32 + tag_bytes + message_3_payload_bytes(role) + tag_bytes;
}
static_assert(message_2_bytes <= handshake_message_limit_bytes);
static_assert(message_3_bytes(Role::peer) <= handshake_message_limit_bytes);

/// What is awaited next.
enum class Stage {
  initiators_hello,
  message_1,
  responders_hello,
  message_2,
  message_3,
  complete,
  failed
};

std::optional<Role> role_of(std::uint8_t word) {
  for (const Role role : {Role::peer, Role::client, Role::observer})
    if (static_cast<std::uint8_t>(role) == word) return role;
  return std::nullopt;
}

std::optional<Purpose> purpose_of(std::uint8_t word) {
  for (const Purpose purpose : {Purpose::client, Purpose::link, Purpose::relay, Purpose::callback})
    if (static_cast<std::uint8_t>(purpose) == word) return purpose;
  return std::nullopt;
}

bool may(Role role, Purpose purpose) { return purpose == Purpose::client || role == Role::peer; }

Signature signature_in(std::string_view bytes) {
  assert(bytes.size() == signature_bytes);
  Signature signature{};
  std::copy_n(octets(bytes), signature.size(), signature.begin());
  return signature;
}

std::string signed_by(const Key& key, const KeyBytes& static_public) {
  const Result<Signature> signature = key.sign(static_public);
  assert(signature.ok() && "only the cluster key signs");
  return std::string(text_of(signature.value()));
}

Error no_protocol(const ProtocolRange& own, const ProtocolRange& other) {
  const bool here = own.newest < other.oldest;
  return {Code::unsupported, "no protocol in common: the other side speaks " + words_of(other) +
                                 ", this gpl " + words_of(own) + ". Install a newer gpl " +
                                 (here ? "here" : "there")};
}

Error no_gpl() {
  return {Code::invalid, "what answers there is no gpl: its first bytes are something else"};
}

Error refused(Role role) {
  const std::string shown = role == Role::peer ? "show" : "derive " + std::string(name_of(role));
  return {Code::denied,
          "this machine's key was refused: it is of another cluster, or has been replaced. To use "
          "that cluster: `gpl key " +
              shown + "` on a machine of it, and its output into `gpl key set` here"};
}

}  // namespace

struct Handshake::State {
  Side side;
  Key key;
  KeyPair own;
  ProtocolRange protocols;
  Role role = Role::client;           ///< of the initiator
  Purpose purpose = Purpose::client;  ///< of the initiator
  Stage stage;
  std::string out{};
  std::string prologue{};        ///< the initiator's hello
  std::optional<Hello> hello{};  ///< of the other side
  std::uint16_t protocol = 0;
  std::optional<NoiseHandshake> noise{};
  bool handed_out = false;

  Status take_initiators_hello(std::string_view bytes);
  Status take_message_1(std::string_view bytes);
  Status take_responders_hello(std::string_view bytes);
  Status take_message_2(std::string_view bytes);
  Status take_message_3(std::string_view bytes);
  Status take(std::string_view bytes);

  std::string encode_answer(HelloOutcome outcome) const {
    return encode(Hello{static_cast<std::uint8_t>(outcome), protocols});
  }
};

Handshake::Handshake(std::unique_ptr<State> state) : state_(std::move(state)) {}
Handshake::~Handshake() = default;
Handshake::Handshake(Handshake&&) noexcept = default;
Handshake& Handshake::operator=(Handshake&&) noexcept = default;

Handshake Handshake::initiate(const Call& call) {
  assert(may(call.role, call.purpose));
  Result<KeyBytes> psk = call.key.psk(call.role);
  assert(psk.ok() && "the key does not prove the role");
  auto state = std::make_unique<State>(State{.side = Side::initiator,
                                             .key = call.key,
                                             .own = call.own,
                                             .protocols = call.protocols,
                                             .role = call.role,
                                             .purpose = call.purpose,
                                             .stage = Stage::responders_hello});
  state->prologue = encode(Hello{static_cast<std::uint8_t>(call.role), call.protocols});
  state->noise.emplace(Side::initiator, state->prologue, psk.value(), state->own);
  wipe(psk.value());
  state->out = state->prologue + state->noise->write({});
  return Handshake(std::move(state));
}

Handshake Handshake::respond(const Answering& answering) {
  assert(answering.key.role() == Role::peer);
  return Handshake(std::make_unique<State>(State{.side = Side::responder,
                                                 .key = answering.key,
                                                 .own = answering.own,
                                                 .protocols = answering.protocols,
                                                 .stage = Stage::initiators_hello}));
}

std::string Handshake::output() { return std::exchange(state_->out, {}); }

std::size_t Handshake::wanted() const {
  switch (state_->stage) {
    case Stage::initiators_hello:
    case Stage::responders_hello:
      return hello_bytes;
    case Stage::message_1:
      return message_1_bytes;
    case Stage::message_2:
      return message_2_bytes;
    case Stage::message_3:
      return message_3_bytes(state_->role);
    case Stage::complete:
    case Stage::failed:
      break;
  }
  return 0;
}

Status Handshake::take(std::string_view bytes) {
  assert(bytes.size() == wanted() && !bytes.empty());
  Status taken = state_->take(bytes);
  if (!taken.ok()) {
    state_->stage = Stage::failed;
    state_->noise.reset();
  }
  return taken;
}

Status Handshake::State::take(std::string_view bytes) {
  switch (stage) {
    case Stage::initiators_hello:
      return take_initiators_hello(bytes);
    case Stage::message_1:
      return take_message_1(bytes);
    case Stage::responders_hello:
      return take_responders_hello(bytes);
    case Stage::message_2:
      return take_message_2(bytes);
    case Stage::message_3:
      return take_message_3(bytes);
    case Stage::complete:
    case Stage::failed:
      break;
  }
  return success();
}

Status Handshake::State::take_initiators_hello(std::string_view bytes) {
  hello = decode_hello(bytes);
  if (!hello) return Error{Code::invalid, "who connected is no gpl"};
  // What is wrong with it is said once message 1 is read, too: to close with bytes unread would
  // take the answer away from the other end.
  prologue = bytes;
  stage = Stage::message_1;
  return success();
}

Status Handshake::State::take_message_1(std::string_view bytes) {
  const std::optional<std::uint16_t> common = newest_common(protocols, hello->protocols);
  if (!common) {
    out += encode_answer(HelloOutcome::no_protocol);
    return no_protocol(protocols, hello->protocols);
  }
  const std::optional<Role> known = role_of(hello->word);
  if (!known) {
    out += encode_answer(HelloOutcome::refused);
    return Error{Code::denied, "who connected asks for a role that this gpl does not know"};
  }
  role = *known;
  protocol = *common;
  Result<KeyBytes> psk = key.psk(role);
  assert(psk.ok());
  noise.emplace(Side::responder, prologue, psk.value(), own);
  wipe(psk.value());
  const Result<std::string> payload = noise->read(bytes);
  if (!payload.ok()) {
    out += encode_answer(HelloOutcome::refused);
    return Error{Code::denied, "who connected as " + std::string(name_of(role)) +
                                   " does not have this cluster's key for that"};
  }
  const std::string said = encode_answer(HelloOutcome::fine);
  out += said + noise->write(said + signed_by(key, own.public_half));
  stage = Stage::message_3;
  return success();
}

Status Handshake::State::take_responders_hello(std::string_view bytes) {
  hello = decode_hello(bytes);
  if (!hello) return no_gpl();
  if (hello->word == static_cast<std::uint8_t>(HelloOutcome::no_protocol))
    return no_protocol(protocols, hello->protocols);
  if (hello->word != static_cast<std::uint8_t>(HelloOutcome::fine)) return refused(role);
  stage = Stage::message_2;
  return success();
}

Status Handshake::State::take_message_2(std::string_view bytes) {
  const Result<std::string> payload = noise->read(bytes);
  if (!payload.ok())
    return Error{Code::denied,
                 "the other side does not have this machine's key, or its answer was changed on "
                 "its way"};
  const std::string_view said = payload.value();
  if (said.substr(0, hello_bytes) != encode(*hello))
    return Error{Code::denied, "the other side's hello was changed on its way"};
  if (!key.verify(noise->remote_static(), signature_in(said.substr(hello_bytes))))
    return Error{Code::denied,
                 "what answers there does not prove that it is a peer of this cluster: it may "
                 "have no more than a key for the role " +
                     std::string(name_of(role))};
  const std::optional<std::uint16_t> common = newest_common(protocols, hello->protocols);
  if (!common) return no_protocol(protocols, hello->protocols);
  protocol = *common;
  std::string answer(1, static_cast<char>(purpose));
  if (role == Role::peer) answer += signed_by(key, own.public_half);
  out += noise->write(answer);
  stage = Stage::complete;
  return success();
}

Status Handshake::State::take_message_3(std::string_view bytes) {
  const Result<std::string> payload = noise->read(bytes);
  if (!payload.ok()) return payload.error();
  const std::string_view said = payload.value();
  if (role == Role::peer && !key.verify(noise->remote_static(), signature_in(said.substr(1))))
    return Error{Code::denied, "who connected does not prove that it is a peer of this cluster"};
  const std::optional<Purpose> known = purpose_of(octets(said)[0]);
  if (!known || !may(role, *known))
    return Error{Code::denied, "who connected as " + std::string(name_of(role)) +
                                   " asks for what that role may not do"};
  purpose = *known;
  stage = Stage::complete;
  return success();
}

bool Handshake::complete() const { return state_->stage == Stage::complete; }

Established Handshake::established() {
  assert(complete() && !state_->handed_out);
  state_->handed_out = true;
  const TransportKeys keys = state_->noise->split();
  Established made{.channel = {Sealer(keys.send), Opener(keys.receive)},
                   .remote_static = state_->noise->remote_static(),
                   .role = state_->role,
                   .purpose = state_->purpose,
                   .protocol = state_->protocol};
  state_->noise.reset();
  return made;
}

}  // namespace gpl::auth
