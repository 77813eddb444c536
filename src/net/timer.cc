#include "gpl/net/timer.h"

#include <utility>

#include "loop_state.h"

namespace gpl::net {

Timer::Timer(std::weak_ptr<LoopState> loop, Moment when, std::uint64_t id)
    : loop_(std::move(loop)), when_(when), id_(id) {}
Timer::Timer(Timer&&) noexcept = default;
Timer& Timer::operator=(Timer&& other) noexcept {
  if (this == &other) return *this;
  cancel();
  loop_ = std::move(other.loop_);
  when_ = other.when_;
  id_ = other.id_;
  return *this;
}
Timer::~Timer() { cancel(); }

void Timer::cancel() {
  const auto loop = std::exchange(loop_, {}).lock();
  if (loop != nullptr) loop->drop_timer(when_, id_);
}

bool Timer::pending() const {
  const auto loop = loop_.lock();
  return loop != nullptr && loop->has_timer(when_, id_);
}

}  // namespace gpl::net
