#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "gpl/auth/key.h"

namespace gpl::auth {

/// Noise's SymmetricState (section 5.2) with BLAKE2b and ChaChaPoly: the chaining key, the hash of
/// what was said, and the key of the message that is written or read.
class SymmetricState {
 public:
  static constexpr std::size_t hash_bytes = 64;
  using Digest = std::array<std::uint8_t, hash_bytes>;

  explicit SymmetricState(std::string_view protocol_name);
  SymmetricState(const SymmetricState&) = delete;
  SymmetricState& operator=(const SymmetricState&) = delete;
  ~SymmetricState();

  void mix_hash(std::string_view said);
  void mix_key(const KeyBytes& input);
  void mix_key_and_hash(const KeyBytes& input);
  /// Both require that a key was mixed. They append to `out`; false: it was not encrypted so.
  void encrypt_and_hash(std::string_view plain, std::string& out);
  bool decrypt_and_hash(std::string_view sealed, std::string& out);
  /// The keys of the initiator's messages and of the responder's.
  std::pair<KeyBytes, KeyBytes> split() const;
  const Digest& hash() const { return hash_; }

 private:
  void use(const Digest& key);

  Digest chaining_key_{};
  Digest hash_{};
  KeyBytes key_{};
  std::uint64_t nonce_ = 0;
  bool has_key_ = false;
};

}  // namespace gpl::auth
