#include "gpl/store/checksum.h"

// The analyzer looks into the library, and takes its checks for null as a sign that null is given.
#ifndef __clang_analyzer__
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>

namespace gpl::store {

std::uint64_t checksum(std::string_view bytes, std::uint64_t seed) {
  return XXH64(bytes.data(), bytes.size(), seed);
}

}  // namespace gpl::store
