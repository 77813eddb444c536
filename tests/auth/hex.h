#pragma once

#include <cassert>
#include <cstddef>
#include <string>
#include <string_view>

/// Bytes as hex digits, for vectors and tools.
inline std::string to_hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += "0123456789abcdef"[byte >> 4U];
    text += "0123456789abcdef"[byte & 15U];
  }
  return text;
}

inline std::string from_hex(std::string_view text) {
  assert(text.size() % 2 == 0);
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16));
  return bytes;
}

/// Into an array of the length that the text has.
template <class Array>
Array array_of(std::string_view bytes) {
  Array array{};
  assert(bytes.size() == array.size());
  for (std::size_t i = 0; i < array.size(); ++i) array[i] = static_cast<unsigned char>(bytes[i]);
  return array;
}
