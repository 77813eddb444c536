#pragma once

#include "gpl/core/fit.h"

namespace gpl {

/// The devices that a job gets of a peer, into `placement`; or why it gets none, into `fit`.
void choose_devices(const Requirement& requirement, const PeerView& peer, Instant now,
                    Placement& placement, Fit& fit);

}  // namespace gpl
