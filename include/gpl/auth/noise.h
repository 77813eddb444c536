#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "gpl/auth/key_pair.h"
#include "gpl/core/result.h"

namespace gpl::auth {

enum class Side { initiator, responder };

/// What a handshake ends with: the keys of the two directions, as seen from this side. Wiped with
/// it.
struct TransportKeys {
  KeyBytes send{};
  KeyBytes receive{};
  ~TransportKeys();
};

/// One side of Noise_XXpsk0_25519_ChaChaPoly_BLAKE2b (Noise Protocol Framework, revision 34), as
/// pure steps: messages in, messages out; three in all, the initiator's first. Its secrets are
/// wiped when it is complete or dropped.
class NoiseHandshake {
 public:
  /// `ephemeral` is drawn anew for every handshake; given only by tests.
  NoiseHandshake(Side side, std::string_view prologue, const KeyBytes& psk, const KeyPair& own,
                 const KeyPair& ephemeral = draw_key_pair());
  ~NoiseHandshake();
  NoiseHandshake(NoiseHandshake&&) noexcept;
  NoiseHandshake& operator=(NoiseHandshake&&) noexcept;

  /// The next message of this side. Requires that it is its turn.
  std::string write(std::string_view payload);
  /// The payload of the other side's next message. Code::denied: another key, it was changed on its
  /// way, or it has a public key that makes no secret (of low order); Code::invalid: it is too
  /// short or too long to be one. After an error there is nothing more to do. Requires that it is
  /// the other side's turn.
  Result<std::string> read(std::string_view message);

  bool complete() const;
  /// Known once the message that carries it has been read.
  const KeyBytes& remote_static() const;
  /// Require `complete`.
  TransportKeys split() const;
  std::string handshake_hash() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gpl::auth
