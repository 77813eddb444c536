#pragma once

#include <string_view>
#include <vector>

#include "gpl/core/ascii.h"

namespace gpl::host {

/// The lines of `text` that hold more than whitespace, trimmed.
inline std::vector<std::string_view> lines_with_text(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t newline = text.find('\n');
    const std::string_view line = trimmed(text.substr(0, newline));
    if (!line.empty()) lines.push_back(line);
    if (newline == std::string_view::npos) break;
    text.remove_prefix(newline + 1);
  }
  return lines;
}

}  // namespace gpl::host
