#include "symmetric_state.h"

#include <algorithm>
#include <cassert>
#include <initializer_list>

#include "cipher.h"
#include "sodium_bytes.h"

namespace gpl::auth {
namespace {

using Digest = SymmetricState::Digest;

static_assert(SymmetricState::hash_bytes == crypto_generichash_blake2b_BYTES_MAX);
constexpr std::size_t block_bytes = 128;  // of BLAKE2b, for HMAC (section 12.8)

Digest blake2b(std::initializer_list<std::string_view> parts) {
  crypto_generichash_blake2b_state state;
  Digest digest{};
  crypto_generichash_blake2b_init(&state, nullptr, 0, digest.size());
  for (const std::string_view part : parts)
    crypto_generichash_blake2b_update(&state, octets(part), part.size());
  crypto_generichash_blake2b_final(&state, digest.data(), digest.size());
  sodium_memzero(&state, sizeof state);
  return digest;
}

/// RFC 2104 over BLAKE2b: Noise takes HMAC, not BLAKE2b's own keyed mode.
Digest hmac(const Digest& key, std::initializer_list<std::string_view> parts) {
  std::array<std::uint8_t, block_bytes> pad{};
  const auto pad_with = [&](std::uint8_t mask) {
    pad.fill(mask);
    for (std::size_t i = 0; i < key.size(); ++i) pad[i] ^= key[i];
  };
  crypto_generichash_blake2b_state state;
  Digest digest{};
  pad_with(0x36);
  crypto_generichash_blake2b_init(&state, nullptr, 0, digest.size());
  crypto_generichash_blake2b_update(&state, pad.data(), pad.size());
  for (const std::string_view part : parts)
    crypto_generichash_blake2b_update(&state, octets(part), part.size());
  crypto_generichash_blake2b_final(&state, digest.data(), digest.size());
  pad_with(0x5c);
  digest = blake2b({text_of(pad), text_of(digest)});
  sodium_memzero(&state, sizeof state);
  wipe(pad);
  return digest;
}

/// HKDF of section 4.3: the third output is made always, and is left where two are wanted.
struct Derived {
  Digest first{};
  Digest second{};
  Digest third{};

  Derived(const Digest& chaining_key, std::string_view input) {
    Digest temporary = hmac(chaining_key, {input});
    first = hmac(temporary, {"\x01"});
    second = hmac(temporary, {text_of(first), "\x02"});
    third = hmac(temporary, {text_of(second), "\x03"});
    wipe(temporary);
  }
  Derived(const Derived&) = delete;
  Derived& operator=(const Derived&) = delete;
  ~Derived() {
    wipe(first);
    wipe(second);
    wipe(third);
  }
};

KeyBytes cut(const Digest& digest) {
  KeyBytes key{};
  std::copy_n(digest.begin(), key.size(), key.begin());
  return key;
}

}  // namespace

SymmetricState::SymmetricState(std::string_view protocol_name) {
  assert(protocol_name.size() <= hash_.size());
  std::copy(protocol_name.begin(), protocol_name.end(), hash_.begin());
  chaining_key_ = hash_;
}

SymmetricState::~SymmetricState() {
  wipe(chaining_key_);
  wipe(hash_);
  wipe(key_);
}

void SymmetricState::use(const Digest& key) {
  key_ = cut(key);
  nonce_ = 0;
  has_key_ = true;
}

void SymmetricState::mix_hash(std::string_view said) { hash_ = blake2b({text_of(hash_), said}); }

void SymmetricState::mix_key(const KeyBytes& input) {
  const Derived derived(chaining_key_, text_of(input));
  chaining_key_ = derived.first;
  use(derived.second);
}

void SymmetricState::mix_key_and_hash(const KeyBytes& input) {
  const Derived derived(chaining_key_, text_of(input));
  chaining_key_ = derived.first;
  mix_hash(text_of(derived.second));
  use(derived.third);
}

void SymmetricState::encrypt_and_hash(std::string_view plain, std::string& out) {
  assert(has_key_);
  const std::size_t before = out.size();
  encrypt(key_, nonce_++, text_of(hash_), plain, out);
  mix_hash(std::string_view(out).substr(before));
}

bool SymmetricState::decrypt_and_hash(std::string_view sealed, std::string& out) {
  assert(has_key_);
  if (!decrypt(key_, nonce_, text_of(hash_), sealed, out)) return false;
  ++nonce_;
  mix_hash(sealed);
  return true;
}

std::pair<KeyBytes, KeyBytes> SymmetricState::split() const {
  const Derived derived(chaining_key_, {});
  return {cut(derived.first), cut(derived.second)};
}

}  // namespace gpl::auth
