#include "hello.h"

#include <algorithm>
#include <cassert>

#include "big_endian.h"

namespace gpl::auth {
namespace {

constexpr std::string_view magic = "gpl";

}  // namespace

std::string encode(const Hello& hello) {
  std::string bytes(magic);
  bytes += static_cast<char>(hello.word);
  append_u16(bytes, hello.protocols.oldest);
  append_u16(bytes, hello.protocols.newest);
  assert(bytes.size() == hello_bytes);
  return bytes;
}

std::optional<Hello> decode_hello(std::string_view bytes) {
  assert(bytes.size() == hello_bytes);
  if (!bytes.starts_with(magic)) return std::nullopt;
  Hello hello;
  hello.word = static_cast<std::uint8_t>(bytes[magic.size()]);
  hello.protocols = {read_u16(bytes.substr(4)), read_u16(bytes.substr(6))};
  return hello;
}

std::optional<std::uint16_t> newest_common(const ProtocolRange& one, const ProtocolRange& other) {
  const std::uint16_t newest = std::min(one.newest, other.newest);
  if (newest < one.oldest || newest < other.oldest) return std::nullopt;
  return newest;
}

std::string words_of(const ProtocolRange& range) {
  const std::string oldest = std::to_string(range.oldest);
  return range.oldest == range.newest ? oldest : oldest + " to " + std::to_string(range.newest);
}

}  // namespace gpl::auth
