#pragma once

#include <cstdint>

#include "gpl/core/cluster_state.h"
#include "gpl/core/command.h"

namespace gpl {

/// The digest after a command that changed the state: over the digest before it, the command and
/// what it did, in O(size of both). Independent of the machine. Not against an adversary.
std::uint64_t digest_after(std::uint64_t before, const Command& command, const Applied& applied);

}  // namespace gpl
