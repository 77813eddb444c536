#pragma once

#include <string>
#include <string_view>

namespace gpl::auth {

/// The first 8 bytes of BLAKE2b-256, as 16 hex digits: what people and mDNS are told of a key.
std::string digest_name(std::string_view bytes);

}  // namespace gpl::auth
