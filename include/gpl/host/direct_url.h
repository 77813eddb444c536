#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gpl::host {

inline constexpr std::size_t max_direct_url_bytes = std::size_t{64} << 10;

/// Where a distribution was installed from (direct_url.json, PEP 610).
struct DirectUrl {
  bool editable = false;
  std::string folder;  ///< of a file: URL, its path, percent signs decoded; "" for any other
  friend bool operator==(const DirectUrl&, const DirectUrl&) = default;
};

/// Any text gets an answer: what is not such a JSON object says nothing.
DirectUrl parse_direct_url(std::string_view text);

}  // namespace gpl::host
