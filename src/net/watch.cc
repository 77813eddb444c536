#include "gpl/net/watch.h"

#include <utility>

#include "loop_state.h"

namespace gpl::net {

Watch::Watch(std::weak_ptr<LoopState> loop, std::uint64_t id) : loop_(std::move(loop)), id_(id) {}
Watch::Watch(Watch&&) noexcept = default;
Watch& Watch::operator=(Watch&& other) noexcept {
  if (this == &other) return *this;
  cancel();
  loop_ = std::move(other.loop_);
  id_ = other.id_;
  return *this;
}
Watch::~Watch() { cancel(); }

Status Watch::want(Interest interest) {
  const auto loop = loop_.lock();
  return loop == nullptr ? success() : loop->want(id_, interest);
}

void Watch::cancel() {
  const auto loop = std::exchange(loop_, {}).lock();
  if (loop != nullptr) loop->drop_watch(id_);
}

}  // namespace gpl::net
