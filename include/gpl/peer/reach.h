#pragma once

#include <functional>
#include <vector>

#include "gpl/core/id.h"
#include "gpl/wire/link_message.h"

namespace gpl::peer {

/// How a peer reaches the others: the mesh, or a fake.
struct Reach {
  std::function<std::vector<PeerId>()> up;  ///< linked now
  /// Dropped without a link. Never calls back.
  std::function<void(PeerId, wire::LinkMessage)> send;
  /// What a linked peer said of itself; null without a link.
  std::function<const wire::LinkHello*(PeerId)> hello_of;

  bool is_up(PeerId peer) const { return hello_of(peer) != nullptr; }
};

}  // namespace gpl::peer
