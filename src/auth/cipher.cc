#include "cipher.h"

#include <algorithm>
#include <array>
#include <limits>

#include "sodium_bytes.h"

namespace gpl::auth {
namespace {

static_assert(tag_bytes == crypto_aead_chacha20poly1305_IETF_ABYTES);

using Nonce = std::array<unsigned char, crypto_aead_chacha20poly1305_IETF_NPUBBYTES>;

Nonce nonce_of(std::uint64_t number) {
  Nonce nonce{};
  for (std::size_t i = 4; i < nonce.size(); ++i, number >>= 8U)
    nonce[i] = static_cast<unsigned char>(number & 0xffU);
  return nonce;
}

}  // namespace

void encrypt(const KeyBytes& key, std::uint64_t nonce, std::string_view associated,
             std::string_view plain, std::string& out) {
  const Nonce number = nonce_of(nonce);
  const std::size_t before = out.size();
  out.resize(before + plain.size() + tag_bytes);
  crypto_aead_chacha20poly1305_ietf_encrypt(octets(out) + before, nullptr, octets(plain),
                                            plain.size(), octets(associated), associated.size(),
                                            nullptr, number.data(), key.data());
}

bool decrypt(const KeyBytes& key, std::uint64_t nonce, std::string_view associated,
             std::string_view sealed, std::string& out) {
  if (sealed.size() < tag_bytes) return false;
  const Nonce number = nonce_of(nonce);
  const std::size_t before = out.size();
  out.resize(before + sealed.size() - tag_bytes);
  const bool genuine = crypto_aead_chacha20poly1305_ietf_decrypt(
                           octets(out) + before, nullptr, nullptr, octets(sealed), sealed.size(),
                           octets(associated), associated.size(), number.data(), key.data()) == 0;
  if (!genuine) out.resize(before);
  return genuine;
}

void rekey(KeyBytes& key) {
  const KeyBytes zeros{};
  std::string next;
  encrypt(key, std::numeric_limits<std::uint64_t>::max(), {}, text_of(zeros), next);
  std::copy_n(octets(next), key.size(), key.begin());
  wipe(next);
}

}  // namespace gpl::auth
