#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

#include "gpl/core/time.h"

namespace gpl::net {

/// Tells what comes back of one's own packets, as multicast does for the others on the machine. By
/// address and port they cannot be told from those of another responder there; so each packet that
/// was sent is passed over once, and the same from another counts.
class MdnsEcho {
 public:
  void sent(std::string bytes, Moment now);
  /// Whether this is one of those. Requires that it came from an address of this machine.
  bool take(std::string_view bytes, Moment now);

 private:
  struct Sent {
    std::string bytes;
    Moment at;
  };
  void forget(Moment now);

  std::deque<Sent> sent_;
};

}  // namespace gpl::net
