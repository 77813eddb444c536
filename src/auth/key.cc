#include "gpl/auth/key.h"

#include <algorithm>
#include <utility>

#include "digest_name.h"
#include "gpl/core/ascii.h"
#include "sodium_bytes.h"

namespace gpl::auth {
namespace {

// The numbers of crypto_kdf's subkeys: a role's pre-shared key has the role's own.
constexpr std::uint64_t signing_subkey = 4;
constexpr const char* derivation = "gpl-key1";
constexpr std::string_view signed_context = "gpl-peer-static-1";
constexpr std::size_t check_bytes = 4;
constexpr int base64 = sodium_base64_VARIANT_URLSAFE_NO_PADDING;

static_assert(std::tuple_size_v<KeyBytes> == crypto_kdf_blake2b_KEYBYTES);
static_assert(std::tuple_size_v<Signature> == crypto_sign_ed25519_BYTES);

struct Form {
  Role role;
  std::string_view word;
  std::size_t body_bytes;
};
constexpr Form forms[] = {
    {Role::peer, "gpl-cluster-key-1", 32},
    {Role::client, "gpl-client-key-1", 64},
    {Role::observer, "gpl-observer-key-1", 64},
};

const Form& form_of(Role role) {
  return *std::find_if(std::begin(forms), std::end(forms),
                       [&](const Form& form) { return form.role == role; });
}

KeyBytes subkey(const KeyBytes& cluster_key, std::uint64_t number) {
  KeyBytes made{};
  crypto_kdf_blake2b_derive_from_key(made.data(), made.size(), number, derivation,
                                     cluster_key.data());
  return made;
}

/// The pair that signs for the cluster; its secret half is wiped with it.
struct SigningPair {
  KeyBytes public_half{};
  std::array<unsigned char, crypto_sign_ed25519_SECRETKEYBYTES> secret{};

  explicit SigningPair(const KeyBytes& cluster_key) {
    KeyBytes seed = subkey(cluster_key, signing_subkey);
    crypto_sign_ed25519_seed_keypair(public_half.data(), secret.data(), seed.data());
    wipe(seed);
  }
  SigningPair(const SigningPair&) = delete;
  SigningPair& operator=(const SigningPair&) = delete;
  ~SigningPair() { wipe(secret); }
};

std::string check_of(std::string_view word, std::string_view body) {
  crypto_generichash_blake2b_state state;
  std::array<unsigned char, 32> digest{};
  crypto_generichash_blake2b_init(&state, nullptr, 0, digest.size());
  crypto_generichash_blake2b_update(&state, octets(word), word.size());
  crypto_generichash_blake2b_update(&state, octets(body), body.size());
  crypto_generichash_blake2b_final(&state, digest.data(), digest.size());
  return std::string(text_of(digest).substr(0, check_bytes));
}

Error malformed(const std::string& why) {
  return {Code::invalid, "this is no key of gpl: " + why + ". Copy the whole line again, as " +
                             "`gpl key show` prints it"};
}

/// What a line is the word of. The line itself is a secret, and in no message.
Result<const Form*> form_by(std::string_view word) {
  if (word.empty()) return malformed("the line is empty");
  for (const Form& form : forms) {
    if (word == form.word) return &form;
    const std::string_view without_version = form.word.substr(0, form.word.size() - 1);
    const std::string_view version = word.substr(std::min(word.size(), without_version.size()));
    if (word.starts_with(without_version) && !version.empty() && version.size() <= 3 &&
        std::all_of(version.begin(), version.end(), is_digit))
      return Error{Code::invalid, "this key has a form that this version of gpl does not know (" +
                                      std::string(without_version) + std::string(version) +
                                      "): install the newer one here"};
  }
  return malformed(
      "it does not begin with gpl-cluster-key-1, gpl-client-key-1 or "
      "gpl-observer-key-1");
}

KeyBytes part_of(std::string_view body, std::size_t from) {
  KeyBytes part{};
  std::copy_n(octets(body) + from, part.size(), part.begin());
  return part;
}

}  // namespace

std::string_view name_of(Role role) {
  switch (role) {
    case Role::peer:
      return "peer";
    case Role::client:
      return "client";
    case Role::observer:
      return "observer";
  }
  return "unknown";
}

Key::~Key() { wipe(secret_); }

Key Key::draw() {
  need_sodium();
  KeyBytes secret{};
  randombytes_buf(secret.data(), secret.size());
  Key key(Role::peer, secret, SigningPair(secret).public_half);
  wipe(secret);
  return key;
}

Result<Key> Key::parse(std::string_view line) {
  need_sodium();
  line = trimmed(line);
  const auto blank = std::find_if(line.begin(), line.end(), is_whitespace);
  const std::string_view word = line.substr(0, static_cast<std::size_t>(blank - line.begin()));
  const Result<const Form*> found = form_by(word);
  if (!found.ok()) return found.error();
  const Form& form = *found.value();
  const std::string_view text = trimmed(line.substr(word.size()));
  const std::size_t bytes = form.body_bytes + check_bytes;
  const std::size_t characters = sodium_base64_encoded_len(bytes, base64) - 1;
  if (text.size() != characters)
    return malformed(std::to_string(text.size()) + " characters follow '" + std::string(form.word) +
                     "' where there are " + std::to_string(characters));
  std::string body(bytes, '\0');
  std::size_t decoded = 0;
  const bool sound = sodium_base642bin(octets(body), body.size(), text.data(), text.size(), nullptr,
                                       &decoded, nullptr, base64) == 0 &&
                     decoded == bytes;
  const std::string_view whole = std::string_view(body).substr(0, form.body_bytes);
  const bool matches = sound && check_of(form.word, whole) == body.substr(form.body_bytes);
  KeyBytes secret = part_of(body, 0);
  Key key(form.role, secret,
          form.role == Role::peer ? SigningPair(secret).public_half : part_of(body, secret.size()));
  wipe(secret);
  wipe(body);
  if (!sound) return malformed("it has a character that no key has");
  if (!matches) return malformed("a character of it was changed");
  return key;
}

std::string Key::text() const {
  const Form& form = form_of(role_);
  std::string body(text_of(secret_));
  if (role_ != Role::peer) body += text_of(verifier_);
  body += check_of(form.word, body);
  std::string encoded(sodium_base64_encoded_len(body.size(), base64), '\0');
  sodium_bin2base64(encoded.data(), encoded.size(), octets(body), body.size(), base64);
  encoded.pop_back();
  std::string line = std::string(form.word) + " " + encoded;
  wipe(body);
  wipe(encoded);
  return line;
}

Result<Key> Key::derive(Role role) const {
  if (role == Role::peer)
    return Error{Code::invalid, "for peers there is the cluster key itself, and none is derived"};
  if (role_ != Role::peer)
    return Error{Code::denied, "from a key for the role " + std::string(name_of(role_)) +
                                   " none can be derived: that takes the cluster key"};
  KeyBytes secret = subkey(secret_, static_cast<std::uint64_t>(role));
  Key key(role, secret, verifier_);
  wipe(secret);
  return key;
}

Result<KeyBytes> Key::psk(Role role) const {
  if (role_ == Role::peer) return subkey(secret_, static_cast<std::uint64_t>(role));
  if (role_ == role) return secret_;
  return Error{Code::denied, "a key for the role " + std::string(name_of(role_)) +
                                 " does not prove the role " + std::string(name_of(role))};
}

Result<Signature> Key::sign(const KeyBytes& static_public) const {
  if (role_ != Role::peer)
    return Error{Code::denied, "a key for the role " + std::string(name_of(role_)) +
                                   " makes nobody a peer: that takes the cluster key"};
  const SigningPair pair(secret_);
  const std::string said = std::string(signed_context) + std::string(text_of(static_public));
  Signature signature{};
  crypto_sign_ed25519_detached(signature.data(), nullptr, octets(said), said.size(),
                               pair.secret.data());
  return signature;
}

bool Key::verify(const KeyBytes& static_public, const Signature& signature) const {
  const std::string said = std::string(signed_context) + std::string(text_of(static_public));
  return crypto_sign_ed25519_verify_detached(signature.data(), octets(said), said.size(),
                                             verifier_.data()) == 0;
}

std::string Key::fingerprint() const { return digest_name(text_of(verifier_)); }

}  // namespace gpl::auth
