#pragma once

#include "kind_fit.h"

namespace gpl {

/// The peer has no device that could do.
Reason no_device_reason(const Requirement& requirement, const PeerView& peer);

/// It has some of the kind, and too few of them serve, ever: one reason for the count, and one for
/// everything by which each falls short.
std::vector<Reason> shortage_reasons(const Requirement& requirement, const KindFit& fit,
                                     Instant now);

}  // namespace gpl
