#pragma once

#include <string>

#include "gpl/core/size.h"

namespace gpl {

/// Two sizes to be compared by a person: in bytes where they are not equal and would look it.
struct MemoryWords {
  MemoryWords(std::uint64_t one_bytes, std::uint64_t other_bytes)
      : one(format_memory_size(one_bytes)), other(format_memory_size(other_bytes)) {
    if (one_bytes == other_bytes || one != other) return;
    one = std::to_string(one_bytes) + " bytes";
    other = std::to_string(other_bytes) + " bytes";
  }
  std::string one;
  std::string other;
};

}  // namespace gpl
