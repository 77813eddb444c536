#include "gpl/auth/key_pair.h"

#include "digest_name.h"
#include "sodium_bytes.h"

namespace gpl::auth {

KeyPair::~KeyPair() { wipe(secret); }

KeyPair draw_key_pair() {
  need_sodium();
  KeyBytes secret{};
  randombytes_buf(secret.data(), secret.size());
  KeyPair pair = key_pair_of(secret);
  wipe(secret);
  return pair;
}

KeyPair key_pair_of(const KeyBytes& secret) {
  KeyPair pair;
  pair.secret = secret;
  crypto_scalarmult_curve25519_base(pair.public_half.data(), secret.data());
  return pair;
}

std::string name_of(const KeyBytes& public_half) { return digest_name(text_of(public_half)); }

std::string seal(std::string_view plain, const KeyBytes& to_public) {
  need_sodium();
  std::string sealed(plain.size() + crypto_box_SEALBYTES, '\0');
  if (crypto_box_seal(octets(sealed), octets(plain), plain.size(), to_public.data()) != 0)
    sealed.clear();
  return sealed;
}

Result<std::string> unseal(std::string_view sealed, const KeyPair& own) {
  const Error error{Code::invalid, "it was not sealed for this machine's key, or was changed"};
  if (sealed.size() < crypto_box_SEALBYTES) return error;
  std::string plain(sealed.size() - crypto_box_SEALBYTES, '\0');
  if (crypto_box_seal_open(octets(plain), octets(sealed), sealed.size(), own.public_half.data(),
                           own.secret.data()) != 0)
    return error;
  return plain;
}

}  // namespace gpl::auth
