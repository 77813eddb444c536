#pragma once

#include <cstdint>
#include <string_view>

namespace gpl::store {

/// XXH64 (xxHash): against faults, not against forgers.
std::uint64_t checksum(std::string_view bytes, std::uint64_t seed);

}  // namespace gpl::store
