#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpl/core/device.h"
#include "gpl/core/environment.h"
#include "gpl/core/peer_view.h"
#include "gpl/core/requirement.h"

namespace gpl {

/// What a peer lends the cluster, as it reports it: the part of a PeerView that goes into the log.
struct PeerOffer {
  std::string name;
  HostFacts host;  ///< cpus and memory: what may be held of them
  std::vector<Accelerator> accelerators;
  std::vector<PythonEnvironment> environments;
  std::vector<ProbeProblem> problems;
  std::vector<Label> labels;
  std::uint32_t feature_level = 1;  ///< the newest that its gpl knows
  std::string
      closed;  ///< why it takes no new work: "draining", "lends from 20:00 to 08:00"; "": it does
  friend bool operator==(const PeerOffer&, const PeerOffer&) = default;
};

/// With nothing held there; it has not reported yet.
PeerView view_of(const PeerOffer& offer);

}  // namespace gpl
