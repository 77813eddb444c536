#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gpl::auth {

/// Numbers of 2 bytes as the handshake and the channel have them: the most significant first.
inline void append_u16(std::string& out, std::uint16_t number) {
  out += static_cast<char>(number >> 8U);
  out += static_cast<char>(number & 0xffU);
}
/// Requires 2 bytes.
inline std::uint16_t read_u16(std::string_view bytes) {
  const auto high = static_cast<unsigned>(static_cast<unsigned char>(bytes[0]));
  const auto low = static_cast<unsigned>(static_cast<unsigned char>(bytes[1]));
  return static_cast<std::uint16_t>(high << 8U | low);
}

}  // namespace gpl::auth
