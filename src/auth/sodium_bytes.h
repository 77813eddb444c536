#pragma once

#include <sodium.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace gpl::auth {

/// To be called before libsodium draws or chooses its code; it may be called again.
void need_sodium();

/// Overwrites what a container of bytes holds, in a way that no compiler leaves out.
template <class Bytes>
void wipe(Bytes& bytes) {
  sodium_memzero(bytes.data(), bytes.size());
}

/// Text and bytes as libsodium and the rest of gpl have them.
inline const unsigned char* octets(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
inline unsigned char* octets(std::string& text) {
  return reinterpret_cast<unsigned char*>(text.data());
}
template <class Bytes>
std::string_view text_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace gpl::auth
