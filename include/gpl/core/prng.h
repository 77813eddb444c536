#pragma once

#include <cassert>
#include <cstdint>

namespace gpl {

/// A seeded stream of numbers that is the same everywhere (splitmix64, Steele and others 2014):
/// standard distributions differ between libraries.
class Prng {
 public:
  explicit Prng(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// Uniform in [0, bound) but for a bias of bound / 2^64. Requires bound > 0.
  std::uint64_t below(std::uint64_t bound) {
    assert(bound > 0);
    return next() % bound;
  }
  /// Uniform in [low, high].
  std::uint64_t between(std::uint64_t low, std::uint64_t high) {
    assert(low <= high);
    return low + below(high - low + 1);
  }
  /// True once in `of` times. Requires of > 0.
  bool one_in(std::uint64_t of) { return below(of) == 0; }

 private:
  std::uint64_t state_;
};

}  // namespace gpl
