#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gpl/core/result.h"

namespace gpl::auth {

using KeyBytes = std::array<std::uint8_t, 32>;
using Signature = std::array<std::uint8_t, 64>;

/// What a key lets its holder do in a cluster.
enum class Role : std::uint8_t {
  peer = 1,      ///< everything: it is, or may act as, a machine of the cluster
  client = 2,    ///< submit, and its own jobs
  observer = 3,  ///< status, explain and devices
};
/// "peer", "client", "observer".
std::string_view name_of(Role role);

/// A key of a cluster: the cluster key itself (role peer), or one that was derived from it for a
/// lesser role and proves no more than that. Its secret is wiped with it. From the cluster key
/// follow, by crypto_kdf, a pre-shared key for each role and an Ed25519 pair whose secret half
/// signs the static keys of peers; a derived key carries its role's pre-shared key and the public
/// half.
class Key {
 public:
  ~Key();

  /// A new cluster key, drawn at random.
  static Key draw();
  /// A line as `text` gives it, blanks around it allowed. Code::invalid says what is wrong with it,
  /// never what it contains.
  static Result<Key> parse(std::string_view line);
  /// One line, without its end: "gpl-cluster-key-1 BASE64", "gpl-client-key-1 BASE64" or
  /// "gpl-observer-key-1 BASE64" (RFC 4648 section 5, unpadded), with a check against typing
  /// errors. A secret.
  std::string text() const;

  Role role() const { return role_; }
  /// Code::denied when this key is not the cluster key; Code::invalid for Role::peer.
  Result<Key> derive(Role role) const;
  /// The pre-shared key of a role's handshakes. Code::denied: this key was derived for another
  /// role.
  Result<KeyBytes> psk(Role role) const;
  /// Says that a static public key is a peer's. Code::denied when this is not the cluster key.
  Result<Signature> sign(const KeyBytes& static_public) const;
  bool verify(const KeyBytes& static_public, const Signature& signature) const;
  /// Of the cluster, 16 hex digits, the same for its derived keys. Public: mDNS announces it.
  std::string fingerprint() const;

  friend bool operator==(const Key&, const Key&) = default;

 private:
  Key(Role role, const KeyBytes& secret, const KeyBytes& verifier)
      : role_(role), secret_(secret), verifier_(verifier) {}

  Role role_;
  KeyBytes secret_;    ///< the cluster key, or the role's pre-shared key
  KeyBytes verifier_;  ///< the public half of the signing pair
};

}  // namespace gpl::auth
