#pragma once

#include "gpl/raft/message.h"

namespace gpl::peer {

/// How members of the consensus reach each other. Nothing is promised: a message may be lost, late,
/// doubled, out of order. `send` never calls back into its caller.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual void send(raft::Message message) = 0;
};

}  // namespace gpl::peer
