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
};

/// A session with the peer of this machine; null: there is no cluster, and the embedded peer is to
/// do it. In order: --local; named peers, which this version cannot ask (Code::unsupported, or
/// not_found and invalid for their names); the socket in the user's state folder, then that of a
/// system service. Without a peer on this machine this costs a few access(2). A machine that
/// belongs to a cluster (its identity file, or a cluster key) never runs a job by itself in
/// silence: when nobody answers within 10 s this is Code::not_found.
Result<std::unique_ptr<Session>> find_cluster(const ClusterChoice& choice,
                                              const host::Folders& folders, const Voice& voice);

/// The same for a command that needs a cluster: Code::not_found, with the way to one, when there is
/// none.
Result<std::unique_ptr<Session>> need_cluster(const ClusterChoice& choice,
                                              const host::Folders& folders, const Voice& voice);

}  // namespace gpl::client
