#pragma once

#include "gpl/host/device_findings.h"
#include "gpl/host/system_root.h"

namespace gpl::host {

/// Intel's discrete GPUs: that they are there, and their PCI identity for a name. The integrated
/// one is left out: it always sits at bus 00, device 02 of the first PCI domain (its virtual
/// functions too), where no card in a slot can be.
DeviceFindings find_intel(const SystemRoot& root);

}  // namespace gpl::host
