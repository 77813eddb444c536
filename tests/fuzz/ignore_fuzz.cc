// Any bytes as an ignore file and as a path: nothing crashes, no pattern is slow, and the same
// bytes give the same verdict.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "gpl/artifact/ignore.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const bool fold_case = (data[0] & 1U) != 0;
  const bool is_folder = (data[0] & 2U) != 0;
  // The second byte says how much of the rest is the path.
  const std::size_t path_size = std::min<std::size_t>(data[1], size - 2);
  const std::string_view path = bytes.substr(2, path_size);
  const std::string_view text = bytes.substr(2 + path_size);

  const auto list = gpl::artifact::IgnoreList::parse(text, fold_case);
  const auto verdict = list.verdict(path, is_folder);
  const auto again = gpl::artifact::IgnoreList::parse(text, fold_case).verdict(path, is_folder);
  if (verdict != again) std::abort();
  if (list.empty() && verdict) std::abort();
  return 0;
}
