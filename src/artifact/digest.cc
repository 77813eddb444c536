#include "gpl/artifact/digest.h"

#include <sodium.h>

#include <algorithm>
#include <cassert>

namespace gpl::artifact {
namespace {

static_assert(sizeof(crypto_generichash_state) == 384 && alignof(crypto_generichash_state) <= 64);

// Without it the library takes its slowest implementation.
void choose_implementation() {
  static const int ready = sodium_init();
  assert(ready >= 0);
}

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

crypto_generichash_state* as_state(unsigned char* bytes) {
  return reinterpret_cast<crypto_generichash_state*>(bytes);
}

const unsigned char* as_bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

std::optional<Digest> Digest::from_bytes(std::string_view bytes) {
  if (bytes.size() != size_bytes) return std::nullopt;
  Digest digest;
  std::copy_n(as_bytes(bytes), size_bytes, digest.bytes_.begin());
  return digest;
}

std::optional<Digest> Digest::from_hex(std::string_view text) {
  if (text.size() != 2 * size_bytes) return std::nullopt;
  Digest digest;
  for (std::size_t i = 0; i < size_bytes; ++i) {
    const int high = digit_of(text[2 * i]);
    const int low = digit_of(text[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    digest.bytes_[i] = static_cast<unsigned char>(high * 16 + low);
  }
  return digest;
}

std::string_view Digest::bytes() const {
  return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
}

std::string Digest::hex() const {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * size_bytes);
  for (const unsigned char byte : bytes_) {
    text += digits[byte >> 4U];
    text += digits[byte & 15U];
  }
  return text;
}

Hasher::Hasher() {
  choose_implementation();
  crypto_generichash_init(as_state(state_.data()), nullptr, 0, Digest::size_bytes);
}

void Hasher::add(std::string_view bytes) {
  crypto_generichash_update(as_state(state_.data()), as_bytes(bytes), bytes.size());
}

Digest Hasher::finish() {
  std::array<unsigned char, Digest::size_bytes> out{};
  crypto_generichash_final(as_state(state_.data()), out.data(), out.size());
  return *Digest::from_bytes({reinterpret_cast<const char*>(out.data()), out.size()});
}

Digest digest_of(std::string_view bytes) {
  Hasher hasher;
  hasher.add(bytes);
  return hasher.finish();
}

}  // namespace gpl::artifact
