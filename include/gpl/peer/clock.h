#pragma once

#include "gpl/core/time.h"

namespace gpl::peer {

/// What time it is here. Real: the machine's. Fake: the simulator's, each node's at its own rate.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Moment now() const = 0;    ///< steady
  virtual Instant wall() const = 0;  ///< for people, and for commands
};

}  // namespace gpl::peer
