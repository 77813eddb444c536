#pragma once

#include <cstdint>

namespace gpl::sim {

/// Virtual time in microseconds, and lengths of it: no node sees it but through its own clock.
using Micros = std::int64_t;

constexpr Micros millis(std::int64_t count) { return count * 1000; }
constexpr Micros secs(std::int64_t count) { return count * 1'000'000; }

}  // namespace gpl::sim
