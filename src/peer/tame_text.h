#pragma once

#include <cstddef>
#include <string>

namespace gpl::peer {

/// What another machine says, for a log or a terminal, which its control characters must not reach.
inline std::string tame_text(const std::string& text, std::size_t at_most) {
  std::string out = text.substr(0, at_most);
  for (char& c : out) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f) c = '?';
  }
  return out;
}

}  // namespace gpl::peer
