#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

/// How often a random test does what it does: so often in every run of the tests, and times
/// GPL_TEST_EFFORT in a long one that somebody begins by hand.
inline std::uint64_t effort() {
  const char* given = std::getenv("GPL_TEST_EFFORT");
  return given == nullptr ? 1 : std::max<std::uint64_t>(1, std::strtoull(given, nullptr, 10));
}
