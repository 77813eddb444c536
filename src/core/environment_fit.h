#pragma once

#include "gpl/core/fit.h"

namespace gpl {

/// The environment that a job runs in, into `placement`; or why none does: of the one that comes
/// nearest, every framework that it lacks.
void choose_environment(const Requirement& requirement, const PeerView& peer, Placement& placement,
                        std::vector<Reason>& reasons);

}  // namespace gpl
