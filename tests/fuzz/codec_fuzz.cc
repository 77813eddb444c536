// The codec: any bytes get an answer, and what is taken is encoded again as it was. The first byte
// chooses the type, and whether the rest is an encoding or says how to spoil a good one: a seed of
// two bytes, then a place (two bytes) and what to write there, again and again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "wire/all_fields.h"
#include "wire/arbitrary.h"

namespace gpl::wire {
namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

template <class T>
void check(std::string_view bytes) {
  const Result<T> decoded = decode<T>(bytes);
  if (decoded.ok()) {
    require(encode(decoded.value()) == bytes);
    return;
  }
  const std::string& message = decoded.error().message;
  require(!message.empty());
  require(std::all_of(message.begin(), message.end(), [](char c) { return c >= ' ' && c <= '~'; }));
}

template <class T>
void check_spoilt(std::string_view how) {
  const auto number = [&](std::size_t at) {
    return static_cast<std::size_t>(static_cast<unsigned char>(how[at]) << 8 |
                                    static_cast<unsigned char>(how[at + 1]));
  };
  if (how.size() < 2) return;
  Prng random(number(0));
  std::string bytes = encode(arbitrary<T>(random));
  require(decode<T>(bytes).ok());
  for (std::size_t i = 2; i + 3 <= how.size(); i += 3) bytes[number(i) % bytes.size()] = how[i + 2];
  check<T>(bytes);
}

template <class... T>
void check_chosen(std::uint8_t choice, std::string_view rest) {
  using Check = void (*)(std::string_view);
  constexpr Check checks[] = {check<T>..., check_spoilt<T>...};
  checks[choice % std::size(checks)](rest);
}

}  // namespace
}  // namespace gpl::wire

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  gpl::wire::check_chosen<GPL_TOP_LEVEL_TYPES>(data[0], bytes.substr(1));
  return 0;
}
