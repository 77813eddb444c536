#pragma once

#include <memory>
#include <string>

#include "gpl/client/session.h"
#include "gpl/client/voice.h"
#include "gpl/core/result.h"
#include "gpl/host/folders.h"

namespace gpl::client {

/// How the user named a cluster on the command line.
struct ClusterChoice {
  bool local = false;   ///< --local: the embedded peer, whatever else there is
  std::string peers;    ///< --peers, or GPL_PEERS; empty: not named
  std::string version;  ///< of this gpl, for people
  /// Only the peer of this machine is meant: no other one will do.
  bool only_here = false;
};

/// A session with a peer; null: there is no cluster, and the embedded peer is to do it. In order:
/// --local; the peers that were named; the socket in the user's state folder, then that of a system
/// service; where there is a cluster key, `peers` of gpl.toml, then those that announce themselves
/// on the local network. Without a key and a peer on this machine this costs a few access(2). A
/// machine that belongs to a cluster (its identity file, or a cluster key) never runs a job by
/// itself in silence: when nobody answers this is Code::not_found, with what was tried.
/// Code::denied for a key that is missing (of named peers), is none, or is refused; Code::invalid
/// for what is no HOST:PORT.
Result<std::unique_ptr<Session>> find_cluster(const ClusterChoice& choice,
                                              const host::Folders& folders, const Voice& voice);

/// The same for a command that needs a cluster: Code::not_found, with the way to one, when there is
/// none.
Result<std::unique_ptr<Session>> need_cluster(const ClusterChoice& choice,
                                              const host::Folders& folders, const Voice& voice);

}  // namespace gpl::client
