#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "gpl/auth/key.h"

namespace gpl::auth {

/// ChaChaPoly as Noise has it (section 12.3): RFC 8439, the nonce as 4 zero bytes and 8 bytes,
/// little-endian.
inline constexpr std::size_t tag_bytes = 16;

/// Appends `plain`, encrypted, and its tag to `out`.
void encrypt(const KeyBytes& key, std::uint64_t nonce, std::string_view associated,
             std::string_view plain, std::string& out);
/// Appends to `out`. False, and nothing appended: it was not encrypted so.
bool decrypt(const KeyBytes& key, std::uint64_t nonce, std::string_view associated,
             std::string_view sealed, std::string& out);
/// Noise's Rekey (section 4.2) of a key.
void rekey(KeyBytes& key);

}  // namespace gpl::auth
