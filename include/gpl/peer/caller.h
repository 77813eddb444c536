#pragma once

#include <optional>

#include "gpl/core/id.h"
#include "gpl/core/job_description.h"

namespace gpl::peer {

/// Who asks, and what that allows.
struct Caller {
  enum class Rights {
    all,      ///< the peer's owner, root, a holder of the cluster key
    own,      ///< submit, and own jobs
    looking,  ///< status and explain
  };
  Submitter submitter;
  Rights rights = Rights::own;
  /// Another peer, for clients of its own, whose rights it has looked at: it wants to know what is
  /// here, and nothing that it could ask a third one.
  bool is_peer = false;
  std::optional<PeerId> peer;  ///< which
};

}  // namespace gpl::peer
