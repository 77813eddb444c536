#pragma once

#include <string>

namespace gpl::host {

/// This machine's name as the kernel has it, without its domain.
std::string host_name();

/// What tells this machine from others that share a home folder: /etc/machine-id (machine-id(5)),
/// or "host-NAME" where there is none.
std::string machine_id();

}  // namespace gpl::host
