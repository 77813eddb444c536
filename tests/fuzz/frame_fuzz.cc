// Any stream, in any pieces, paused anywhere: the same frames as it has when read at once, within
// the limit, and never more memory than twice what came. What came out whole goes in again.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpl/wire/frame.h"

namespace {

constexpr std::size_t limit_bytes = 3000;

void require(bool holds) {
  if (!holds) std::abort();
}

/// False once the stream cannot be read on.
bool take(gpl::wire::FrameReader& reader, std::size_t most, std::vector<std::string>& payloads) {
  while (most-- > 0) {
    const auto next = reader.next();
    if (!next.ok()) return false;
    if (!next.value().has_value()) return true;
    require(!next.value()->empty() && next.value()->size() <= limit_bytes);
    payloads.emplace_back(*next.value());
  }
  reader.keep();
  return true;
}

std::string framed(const std::vector<std::string>& payloads, std::size_t part) {
  gpl::wire::FrameWriter writer;
  std::string bytes;
  for (const std::string& payload : payloads) writer.add(payload);
  while (writer.queued_bytes() > 0) {
    std::array<std::string_view, 4> pieces;
    require(writer.gather(pieces) > 0);
    const std::string_view some = pieces[0].substr(0, part);
    bytes += some;
    writer.wrote(some.size());
  }
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t step = data[0];
  const std::string_view stream(reinterpret_cast<const char*>(data) + 1, size - 1);

  gpl::wire::FrameReader at_once(limit_bytes);
  std::vector<std::string> whole;
  at_once.feed(stream);
  const bool sound = take(at_once, size, whole);

  gpl::wire::FrameReader reader(limit_bytes);
  std::vector<std::string> payloads;
  bool still = true;
  for (std::size_t from = 0; from < stream.size() && still; from += step + 1) {
    // A copy of its own, so that reading past it, or later, shows.
    const auto piece = std::make_unique<std::string>(stream.substr(from, step + 1));
    reader.feed(*piece);
    still = take(reader, (from + step) % 3 == 0 ? 1 : size, payloads);
    require(reader.held_bytes() <= 2 * (from + step + 1) + 4096);
  }
  still = still && take(reader, size, payloads);
  require(still == sound);
  require(payloads == whole);
  const std::string again = framed(whole, step + 1);
  require(stream.substr(0, again.size()) == again);
  return 0;
}
