#pragma once

#include <cstdint>
#include <memory>

#include "gpl/core/result.h"

namespace gpl::net {

struct LoopState;

/// What of a descriptor to wait for. While it is `none` the descriptor costs nothing, and that its
/// peer is gone is not seen either.
enum class Interest { none, read, write, read_write };

/// What a descriptor is ready for. One that is broken, or whose peer is gone, is ready for all that
/// is waited for: the next call on it tells.
struct Ready {
  bool read = false;
  bool write = false;
};

/// A descriptor that a Loop waits for. Dropping it ends that: nothing is called any more, also of
/// what was ready already. The descriptor must stay open while it is watched: declare the Watch
/// after the descriptor that it watches. It may outlive its loop.
class Watch {
 public:
  Watch() = default;
  Watch(Watch&&) noexcept;
  Watch& operator=(Watch&&) noexcept;
  ~Watch();

  /// Code::io when the system will not (its limit of watches, no memory).
  Status want(Interest interest);
  void cancel();

 private:
  friend struct LoopState;
  Watch(std::weak_ptr<LoopState> loop, std::uint64_t id);

  std::weak_ptr<LoopState> loop_;
  std::uint64_t id_ = 0;
};

}  // namespace gpl::net
