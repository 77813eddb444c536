#include "digest_name.h"

#include <array>

#include "sodium_bytes.h"

namespace gpl::auth {

std::string digest_name(std::string_view bytes) {
  constexpr std::size_t shown_bytes = 8;
  std::array<unsigned char, 32> digest{};
  crypto_generichash_blake2b(digest.data(), digest.size(), octets(bytes), bytes.size(), nullptr, 0);
  std::string name(2 * shown_bytes + 1, '\0');
  sodium_bin2hex(name.data(), name.size(), digest.data(), shown_bytes);
  name.pop_back();
  return name;
}

}  // namespace gpl::auth
