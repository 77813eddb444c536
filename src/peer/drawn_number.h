#pragma once

#include <sys/random.h>

#include <cerrno>
#include <cstdint>

#include "gpl/core/result.h"
#include "gpl/posix/error.h"

namespace gpl::peer {

/// 64 bits from the system's source, never 0.
inline Result<std::uint64_t> drawn_number() {
  std::uint64_t number = 0;
  while (number == 0) {
    const ssize_t got = ::getrandom(&number, sizeof number, 0);
    if (got < 0 && errno != EINTR) return posix::io_error("cannot draw a random number");
    if (got != static_cast<ssize_t>(sizeof number)) number = 0;
  }
  return number;
}

}  // namespace gpl::peer
