#include "gpl/net/loop.h"

#include <utility>

#include "loop_state.h"

namespace gpl::net {

Result<std::unique_ptr<Loop>> Loop::create() {
  auto state = std::make_shared<LoopState>();
  if (const Status opened = state->open(); !opened.ok()) return opened.error();
  return std::unique_ptr<Loop>(new Loop(std::move(state)));
}

Loop::Loop(std::shared_ptr<LoopState> state) : state_(std::move(state)) {}
Loop::~Loop() = default;

void Loop::run() {
  while (!state_->take_stop()) state_->turn(std::nullopt);
}

bool Loop::run_one(Duration at_most) {
  const Moment deadline = now() + at_most;
  Duration left = at_most;
  do {
    if (state_->turn(left)) return true;
    left = deadline - now();
  } while (left > Duration{});
  return false;
}

void Loop::stop() { state_->stop(); }
void Loop::post(Task task) { state_->post(std::move(task)); }
Timer Loop::after(Duration delay, Task task) { return state_->after(delay, std::move(task)); }
Timer Loop::at(Moment when, Task task) { return state_->at(when, std::move(task)); }

Result<Watch> Loop::watch(int descriptor, Task readable) {
  return state_->watch(descriptor, Interest::read, [task = std::move(readable)](Ready) { task(); });
}
Result<Watch> Loop::watch(int descriptor, Interest interest, std::function<void(Ready)> ready) {
  return state_->watch(descriptor, interest, std::move(ready));
}

void Loop::at_end_of_turn(Task task) { state_->at_end_of_turn(std::move(task)); }
Moment Loop::now() const { return state_->now(); }

}  // namespace gpl::net
