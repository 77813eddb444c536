#pragma once

#include <optional>
#include <string>

#include "gpl/auth/key.h"
#include "gpl/auth/key_pair.h"
#include "gpl/core/result.h"
#include "gpl/host/folders.h"

namespace gpl::client {

/// With what a user asks peers of other machines: the key of their cluster, and a pair of the
/// user's own, by which a peer tells one user's jobs from another's.
struct Proof {
  auth::Key key;
  auth::KeyPair own;
};

/// The key of the configuration folder's cluster.key and the pair of the state folder. Nothing
/// where there is no key. Code::denied, with the file, for one that is no key or may not be used.
Result<std::optional<Proof>> read_proof(const host::Folders& folders);

/// The pair kept in the state folder's client.key, made there (mode 0600) when it is first needed.
/// Of two that make it at once both get the same. Where it cannot be kept or read, one drawn for
/// this process alone. Code::denied, with the file, for one that holds something else.
Result<auth::KeyPair> client_key_pair(const std::string& state_folder);

}  // namespace gpl::client
