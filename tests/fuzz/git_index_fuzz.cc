// Any bytes as a git index, and as the shared index of a split one: an Error or an index, never a
// crash.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "gpl/artifact/git_index.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gpl::artifact;
  if (size < 3) return 0;
  const std::size_t hash_bytes = (data[0] & 1U) != 0 ? 32 : 20;
  const bool fold_case = (data[0] & 2U) != 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 3, size - 3);
  // Where the first file ends and the shared one begins.
  const std::size_t split = std::min<std::size_t>(data[1] * 256U + data[2], bytes.size());
  const auto file = GitIndexFile::parse(bytes.substr(0, split), hash_bytes);
  if (!file) return 0;
  const auto shared = GitIndexFile::parse(bytes.substr(split), hash_bytes);
  const auto index = GitIndex::combine(file.value(), shared ? &shared.value() : nullptr, fold_case);
  if (!index) return 0;
  for (const auto& entry : file.value().entries()) {
    const std::string_view name = file.value().name(entry);
    if (!name.empty() && !index.value().tracks(name)) std::abort();
    index.value().folder(name.substr(0, name.find('/')));
  }
  return 0;
}
