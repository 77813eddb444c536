#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "gpl/auth/key_pair.h"
#include "gpl/core/id.h"
#include "gpl/core/result.h"
#include "gpl/core/time.h"
#include "gpl/raft/entry.h"

namespace gpl::peer {

/// Who this peer is, for as long as its state folder lives: STATE/peer/identity, mode 0600.
struct Identity {
  PeerId peer;                ///< drawn at random, 63 bits; never 0
  raft::NodeId node;          ///< the same number: a state folder that was lost makes a new one
  std::uint64_t cluster = 0;  ///< id of the cluster, drawn at random; never 0
  std::string name;           ///< of the machine when it founded or joined
  Instant founded_at;
  friend bool operator==(const Identity&, const Identity&) = default;
};

/// Nothing when this state folder belongs to no cluster yet. Code::invalid for a file that is
/// damaged: a peer must not go on as somebody else.
Result<std::optional<Identity>> read_identity(const std::string& state);
/// A new peer in a new cluster of its own, on disk and synced before it returns. Code::busy when
/// there is an identity already.
Result<Identity> found_identity(const std::string& state);
/// The same in a cluster that was found, which must not be 0: a peer id of its own. Code::busy too.
Result<Identity> join_identity(const std::string& state, std::uint64_t cluster);
/// The static pair of this peer's handshakes: STATE/peer/static.key, mode 0600, made with the
/// identity; one that is not there (an older gpl's folder) is made. Code::invalid for a damaged
/// one.
Result<auth::KeyPair> static_key(const std::string& state);
/// It leaves its cluster for good: the identity with its static key, the addresses of others, and
/// that it was draining. Fine when there is none.
Status remove_identity(const std::string& state);

/// The cluster as people are told it: the first 4 hex digits of its id.
std::string short_name(std::uint64_t cluster);

/// Whether `gpl peers drain` was said and not taken back: STATE/peer/draining, which outlives a
/// restart of the peer.
bool is_draining(const std::string& state);
Status set_draining(const std::string& state, bool draining);

}  // namespace gpl::peer
