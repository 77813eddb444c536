#pragma once

// What happened in a run, for a person. It costs nothing while it is off: a seed that fails is run
// a second time with it on.

#include <deque>
#include <string>

#include "sim/sim_time.h"

namespace gpl::sim {

class Trace {
 public:
  enum class Mode {
    off,
    recent,  ///< keep the last lines
    live,    ///< print each line to stderr as well
  };

  explicit Trace(Mode mode);
  /// The one made last: what is printed when an assertion fails.
  static const Trace* latest();

  bool on() const { return mode_ != Mode::off; }
  void add(Micros at, const std::string& who, const std::string& what);
  /// The last lines, oldest first.
  std::string recent() const;

 private:
  static constexpr std::size_t line_limit = 200;
  Mode mode_;
  std::deque<std::string> lines_;
};

}  // namespace gpl::sim
