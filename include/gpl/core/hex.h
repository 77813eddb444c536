#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace gpl {

/// 16 digits: how ids of peers and clusters are shown.
inline std::string hex(std::uint64_t number) {
  std::string text(16, '0');
  for (std::size_t i = text.size(); i-- > 0; number >>= 4U)
    text[i] = "0123456789abcdef"[number & 15U];
  return text;
}

}  // namespace gpl
