#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gpl::artifact {

/// The unsigned number in the first sizeof(T) bytes at `at`, which must be there, in network order.
template <class T>
T read_big_endian(std::string_view bytes, std::size_t at) {
  std::uint64_t value = 0;
  for (const char byte : bytes.substr(at, sizeof(T)))
    value = value << 8U | static_cast<unsigned char>(byte);
  return static_cast<T>(value);
}

/// Appends an unsigned number in sizeof(T) bytes, in network order.
template <class T>
void append_big_endian(std::string& bytes, T value) {
  for (std::size_t shift = 8 * sizeof(T); shift > 0;) {
    shift -= 8;
    bytes += static_cast<char>(static_cast<unsigned char>(std::uint64_t{value} >> shift));
  }
}

}  // namespace gpl::artifact
