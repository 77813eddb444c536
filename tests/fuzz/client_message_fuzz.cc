// What clients and peers say to each other: any bytes get an answer, and what is taken is encoded
// again as it was, fields of a newer gpl aside. The first byte chooses the type, and whether the
// rest is a message or says how to spoil a good one: spoilt.h.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "wire/spoilt.h"
#include "wire/taken_as_sent.h"

namespace gpl::wire {
namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

template <class T>
void check(std::string_view bytes) {
  const Result<T> decoded = decode<T>(bytes);
  if (decoded.ok()) return require(taken_as_sent(decoded.value(), bytes));
  const std::string& message = decoded.error().message;
  require(!message.empty());
  require(std::all_of(message.begin(), message.end(), [](char c) { return c >= ' ' && c <= '~'; }));
}

template <class T>
void check_spoilt(std::string_view how) {
  check<T>(spoilt<T>(how));
}

}  // namespace
}  // namespace gpl::wire

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gpl::wire;
  if (size == 0) return 0;
  constexpr std::array<void (*)(std::string_view), 4> checks = {
      check<ClientMessage>, check<PeerMessage>, check_spoilt<ClientMessage>,
      check_spoilt<PeerMessage>};
  checks[data[0] % checks.size()]({reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}
