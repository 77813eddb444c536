#pragma once

// The world of one seed: virtual time, the queue of what is to happen, the dice, the trace, and the
// first violation that a checker found. One thread, no clock, nothing ordered by address: a seed
// reruns exactly.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpl/core/prng.h"
#include "sim/figures.h"
#include "sim/sim_time.h"
#include "sim/trace.h"

namespace gpl::sim {

/// A process's life: what was to happen to it does not happen once it has ended.
struct Life {
  std::size_t number = 0;  ///< 0: the world itself, which does not end
};

class World {
 public:
  using Action = std::function<void()>;

  World(std::uint64_t seed, Trace::Mode mode);

  Micros now() const { return now_; }
  std::uint64_t seed() const { return seed_; }

  void after(Micros delay, Action action) { after(delay, Life{}, std::move(action)); }
  /// At the same time as others: after those that were asked for before.
  void after(Micros delay, Life life, Action action);
  /// Lets the next event happen. False: there is none, or there was a violation.
  bool step();
  /// Steps until the time is reached (true), or until there was a violation (false).
  bool run_until(Micros end);
  /// Steps until the condition holds after an event (true), or the time has come (false).
  bool run_until(Micros end, const std::function<bool()>& condition);

  Life begin_life();
  void end_life(Life life) { alive_[life.number] = false; }
  bool alive(Life life) const { return alive_[life.number]; }

  /// Dice of their own for each purpose: one more throw in one place moves nothing in another.
  Prng dice(std::string_view purpose, std::uint64_t number = 0) const;

  /// Tells the trace; `what` makes the text, and is called only when somebody reads it.
  template <class F>
  void tell(const std::string& who, F&& what) {
    if (trace_.on()) trace_.add(now_, who, what());
  }
  const Trace& trace() const { return trace_; }

  /// A rule of the product was broken: the run ends after this event.
  void violate(std::string what);
  const std::optional<std::string>& violation() const { return violation_; }

  Figures& figures() { return figures_; }
  void count(Figure figure, std::uint64_t by = 1) { figures_.add(figure, by); }

 private:
  struct Event {
    Micros at;
    std::uint64_t order;
    Life life;
    Action action;
  };
  static bool later(const Event& a, const Event& b);

  std::uint64_t seed_;
  Trace trace_;
  Micros now_ = 0;
  std::uint64_t next_order_ = 0;
  std::vector<Event> queue_;  ///< a heap
  std::vector<bool> alive_{true};
  std::optional<std::string> violation_;
  Figures figures_;
};

}  // namespace gpl::sim
