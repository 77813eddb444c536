#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gpl/client/results.h"
#include "gpl/client/session.h"
#include "gpl/client/voice.h"
#include "gpl/core/job.h"

namespace gpl::client {

/// A job of a peer that has ended, whose files are to be settled.
struct EndedJob {
  JobId job;
  JobSpec spec;
  std::string peer;    ///< where it ran; "": nowhere
  std::string target;  ///< the caller's current folder
  /// Paths that the caller's tree had, ordered; nothing: not known.
  std::optional<std::vector<std::string>> staged;
};

/// Brings what --out names to the caller's folder, tells the peer that it has been, and says what
/// stayed there. What could not be brought stays with the peer: Results::complete is false then.
Results settle_peer_results(Session& session, const EndedJob& ended, const Voice& voice);

}  // namespace gpl::client
