#pragma once

// Names and messages as a trace shows them.

#include <string>

#include "gpl/raft/message.h"

namespace gpl::sim {

/// "n3".
std::string name_of(raft::NodeId id);
/// "n1 -> n2 term 3: append 12/3 13/3 after 11/3 commit 10 round 7": index/term.
std::string describe(const raft::Message& message);
/// "voters n1 n2 n3, learners n4".
std::string describe(const raft::Configuration& configuration);

}  // namespace gpl::sim
