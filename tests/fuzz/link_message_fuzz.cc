// What two peers say to each other: any bytes get an answer, and what is taken is encoded again as
// it was, fields of a newer gpl's hello aside. The first byte chooses whether the rest is a message
// or says how to spoil a good one: spoilt.h.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <variant>

#include "gpl/wire/link_fields.h"
#include "wire/spoilt.h"

namespace gpl::wire {
namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void check(std::string_view bytes) {
  const Result<LinkMessage> decoded = decode<LinkMessage>(bytes);
  if (decoded.ok()) {
    const std::string again = encode(decoded.value());
    if (again == bytes) return;
    require(std::holds_alternative<LinkHello>(decoded.value()) && again.size() < bytes.size());
    const Result<LinkMessage> known = decode<LinkMessage>(again);
    return require(known.ok() && encode(known.value()) == again);
  }
  const std::string& message = decoded.error().message;
  require(!message.empty());
  require(std::all_of(message.begin(), message.end(), [](char c) { return c >= ' ' && c <= '~'; }));
}

}  // namespace
}  // namespace gpl::wire

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gpl::wire;
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 0) {
    check(rest);
  } else if (const std::string bytes = spoilt<LinkMessage>(rest); !bytes.empty()) {
    check(bytes);
  }
  return 0;
}
