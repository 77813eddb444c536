#pragma once

#include <csignal>
#include <functional>
#include <memory>
#include <vector>

#include "gpl/net/loop.h"

namespace gpl::net {

/// Signals as events of a loop. They are blocked in the calling thread while it lives, and in the
/// threads that this one starts: make it before the first of them, or a signal ends the process
/// from there. A child that is executed must be given back its mask (`mask_before`).
class Signals {
 public:
  /// `caught` is told the number. A signal that was ignored when the process began (nohup) stays
  /// ignored. Code::io when there is no descriptor left.
  static Result<Signals> create(Loop& loop, const std::vector<int>& numbers,
                                std::function<void(int)> caught);
  Signals(Signals&&) noexcept;
  Signals& operator=(Signals&&) noexcept;
  ~Signals();

  const sigset_t& mask_before() const;

 private:
  struct State;
  explicit Signals(std::shared_ptr<State> state);

  std::shared_ptr<State> state_;
};

}  // namespace gpl::net
