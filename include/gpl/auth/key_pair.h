#pragma once

#include "gpl/auth/key.h"

namespace gpl::auth {

/// X25519. The secret half is wiped with it.
struct KeyPair {
  KeyBytes secret{};
  KeyBytes public_half{};
  ~KeyPair();
  friend bool operator==(const KeyPair&, const KeyPair&) = default;
};

KeyPair draw_key_pair();
KeyPair key_pair_of(const KeyBytes& secret);
/// Name of a public key: the first 16 hex digits of its BLAKE2b-256, for a Submitter's `client` and
/// for people.
std::string name_of(const KeyBytes& public_half);

/// Sealed so that only the holder of the pair can read it (crypto_box_seal): for what lies on disk.
/// Empty when nothing can be sealed to such a key (a point of low order), which nobody draws.
std::string seal(std::string_view plain, const KeyBytes& to_public);
/// Code::invalid when it was not sealed for this pair, or was changed.
Result<std::string> unseal(std::string_view sealed, const KeyPair& own);

}  // namespace gpl::auth
