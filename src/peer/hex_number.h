#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace gpl::peer {

/// 16 digits, in lower case.
inline std::string hex_number(std::uint64_t number) {
  std::string text(16, '0');
  for (std::size_t i = text.size(); i-- > 0; number >>= 4)
    text[i] = "0123456789abcdef"[number & 15];
  return text;
}

/// The inverse; 0 for whatever else.
inline std::uint64_t number_of_hex(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && text.size() == 16 ? number : 0;
}

}  // namespace gpl::peer
