#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>

namespace gpl::peer {

/// The inverse of hex; 0 for whatever else.
inline std::uint64_t number_of_hex(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && text.size() == 16 ? number : 0;
}

}  // namespace gpl::peer
