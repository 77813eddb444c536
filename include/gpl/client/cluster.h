#pragma once

#include <string>

#include "gpl/core/result.h"
#include "gpl/host/folders.h"

namespace gpl::client {

/// How the user named a cluster on the command line.
struct ClusterChoice {
  bool local = false;  ///< --local: the embedded peer, whatever else there is
  std::string peers;   ///< --peers, or GPL_PEERS; empty: not named
};

/// Whether the job is to run in the embedded peer, inside this process. In order: --local; named
/// peers; a cluster key of the user's. Only without all of them is there no cluster to ask. This
/// version has the embedded peer alone, so a named cluster is an Error that says so (never a silent
/// local run): Code::unsupported, Code::not_found for a name that does not resolve, Code::invalid.
Status require_embedded(const ClusterChoice& choice, const host::Folders& folders);

}  // namespace gpl::client
