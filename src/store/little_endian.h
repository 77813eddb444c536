#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gpl::store {

/// Appends the low `width` bytes of `value`, the lowest first.
inline void append_le(std::string& out, std::uint64_t value, std::size_t width) {
  for (std::size_t i = 0; i < width; ++i) {
    out += static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
  }
}

/// The number in `width` bytes at `at`. Requires that they are there.
inline std::uint64_t read_le(std::string_view bytes, std::size_t at, std::size_t width) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < width; ++i) {
    value |= std::uint64_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  }
  return value;
}

inline std::uint64_t read_u64(std::string_view bytes, std::size_t at) {
  return read_le(bytes, at, 8);
}
inline std::uint64_t read_u32(std::string_view bytes, std::size_t at) {
  return read_le(bytes, at, 4);
}

}  // namespace gpl::store
