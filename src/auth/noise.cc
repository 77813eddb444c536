#include "gpl/auth/noise.h"

#include <algorithm>
#include <cassert>

#include "cipher.h"
#include "sodium_bytes.h"
#include "symmetric_state.h"

namespace gpl::auth {
namespace {

constexpr std::string_view protocol_name = "Noise_XXpsk0_25519_ChaChaPoly_BLAKE2b";
constexpr std::size_t message_limit_bytes = 65535;  // section 3
constexpr std::size_t key_bytes = std::tuple_size_v<KeyBytes>;
constexpr std::size_t sealed_key_bytes = key_bytes + tag_bytes;
constexpr int messages = 3;

/// What a message has besides its payload: "psk, e", "e, ee, s, es", "s, se" (sections 7.5, 9.4).
constexpr std::size_t overhead_bytes(int message) {
  const std::size_t keys[] = {key_bytes, key_bytes + sealed_key_bytes, sealed_key_bytes};
  return keys[message] + tag_bytes;
}

}  // namespace

TransportKeys::~TransportKeys() {
  wipe(send);
  wipe(receive);
}

struct NoiseHandshake::State {
  Side side;
  KeyPair own;
  KeyPair ephemeral;
  KeyBytes psk;
  KeyBytes remote_ephemeral{};
  KeyBytes remote_static{};
  KeyBytes shared{};  ///< DH of both ephemeral keys, between the reading of one and its mixing
  SymmetricState symmetric{protocol_name};
  int message = 0;  ///< the next one
  bool failed = false;

  State(Side of, const KeyBytes& group, const KeyPair& static_pair, const KeyPair& ephemeral_pair)
      : side(of), own(static_pair), ephemeral(ephemeral_pair), psk(group) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    wipe(psk);
    wipe(shared);
  }

  bool own_turn() const { return (message % 2 == 0) == (side == Side::initiator); }

  void begin_message() {
    if (message == 0) symmetric.mix_key_and_hash(psk);
  }
  void end_message() {
    ++message;
    if (message < messages) return;
    wipe(ephemeral.secret);
    wipe(own.secret);
    wipe(psk);
  }
  /// "e" in a handshake with a pre-shared key (section 9.2).
  void mix_ephemeral(const KeyBytes& key) {
    symmetric.mix_hash(text_of(key));
    symmetric.mix_key(key);
  }
  /// False for a public key that gives zeros whatever the secret is: whoever sends it wants a
  /// secret that all can tell.
  [[nodiscard]] bool mix_shared(const KeyBytes& secret, const KeyBytes& key) {
    if (crypto_scalarmult_curve25519(shared.data(), secret.data(), key.data()) != 0) return false;
    symmetric.mix_key(shared);
    wipe(shared);
    return true;
  }
  bool gives_a_secret(const KeyBytes& key) {
    const bool sound =
        crypto_scalarmult_curve25519(shared.data(), ephemeral.secret.data(), key.data()) == 0;
    wipe(shared);
    return sound;
  }

  void write_keys(std::string& out);
  bool read_keys(std::string_view message_bytes);
  bool read_static(std::string_view sealed);
};

void NoiseHandshake::State::write_keys(std::string& out) {
  begin_message();
  bool sound = true;
  if (message != 2) {
    out += text_of(ephemeral.public_half);
    mix_ephemeral(ephemeral.public_half);
  }
  if (message == 1) sound = mix_shared(ephemeral.secret, remote_ephemeral);
  if (message != 0) {
    symmetric.encrypt_and_hash(text_of(own.public_half), out);
    sound = sound && mix_shared(own.secret, remote_ephemeral);
  }
  // The other's ephemeral key was looked at when it came.
  assert(sound);
}

bool NoiseHandshake::State::read_static(std::string_view sealed) {
  std::string plain;
  if (!symmetric.decrypt_and_hash(sealed, plain)) return false;
  std::copy_n(octets(plain), key_bytes, remote_static.begin());
  return mix_shared(ephemeral.secret, remote_static);
}

bool NoiseHandshake::State::read_keys(std::string_view keys) {
  begin_message();
  if (message == 2) return read_static(keys);
  std::copy_n(octets(keys), key_bytes, remote_ephemeral.begin());
  mix_ephemeral(remote_ephemeral);
  if (message == 0) return gives_a_secret(remote_ephemeral);
  return mix_shared(ephemeral.secret, remote_ephemeral) && read_static(keys.substr(key_bytes));
}

NoiseHandshake::NoiseHandshake(Side side, std::string_view prologue, const KeyBytes& psk,
                               const KeyPair& own, const KeyPair& ephemeral) {
  need_sodium();
  state_ = std::make_unique<State>(side, psk, own, ephemeral);
  state_->symmetric.mix_hash(prologue);
}

NoiseHandshake::~NoiseHandshake() = default;
NoiseHandshake::NoiseHandshake(NoiseHandshake&&) noexcept = default;
NoiseHandshake& NoiseHandshake::operator=(NoiseHandshake&&) noexcept = default;

std::string NoiseHandshake::write(std::string_view payload) {
  State& state = *state_;
  assert(!state.failed && !complete() && state.own_turn());
  assert(overhead_bytes(state.message) + payload.size() <= message_limit_bytes);
  std::string out;
  state.write_keys(out);
  state.symmetric.encrypt_and_hash(payload, out);
  state.end_message();
  return out;
}

Result<std::string> NoiseHandshake::read(std::string_view message) {
  State& state = *state_;
  assert(!state.failed && !complete() && !state.own_turn());
  const std::string which = "message " + std::to_string(state.message + 1) + " of the handshake";
  const std::size_t overhead = overhead_bytes(state.message);
  if (message.size() < overhead || message.size() > message_limit_bytes) {
    state.failed = true;
    return Error{Code::invalid, which + " has " + std::to_string(message.size()) + " bytes, not " +
                                    std::to_string(overhead) + " to " +
                                    std::to_string(message_limit_bytes)};
  }
  const std::size_t keys = overhead - tag_bytes;
  std::string payload;
  if (!state.read_keys(message.substr(0, keys)) ||
      !state.symmetric.decrypt_and_hash(message.substr(keys), payload)) {
    state.failed = true;
    return Error{Code::denied, which + " is of another key, or was changed on its way"};
  }
  state.end_message();
  return payload;
}

bool NoiseHandshake::complete() const { return state_->message == messages; }

const KeyBytes& NoiseHandshake::remote_static() const { return state_->remote_static; }

TransportKeys NoiseHandshake::split() const {
  assert(complete());
  const auto [initiators, responders] = state_->symmetric.split();
  if (state_->side == Side::initiator) return {initiators, responders};
  return {responders, initiators};
}

std::string NoiseHandshake::handshake_hash() const {
  assert(complete());
  return std::string(text_of(state_->symmetric.hash()));
}

}  // namespace gpl::auth
