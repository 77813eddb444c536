#include "gpl/artifact/ewah_bitmap.h"

#include <algorithm>

#include "gpl/artifact/big_endian.h"

namespace gpl::artifact {
namespace {

constexpr std::size_t word_bits = 64;

/// Appends `count` words of all zeros or all ones; false when a one lands beyond `limit`.
bool append_run(std::vector<bool>& bits, std::size_t& position, bool ones, std::uint64_t count,
                std::size_t limit) {
  if (!ones) {
    // Zeros may run on far beyond the limit, where any one is an error: the exact place does not
    // matter there.
    position = std::min<std::size_t>(position + count * word_bits, std::max(position, limit));
    return true;
  }
  if (count > (limit - std::min(position, limit)) / word_bits + 1) return false;
  for (std::uint64_t i = 0; i < count * word_bits; ++i, ++position) {
    if (position >= limit) return false;
    bits[position] = true;
  }
  return true;
}

bool append_word(std::vector<bool>& bits, std::size_t& position, std::uint64_t word,
                 std::size_t limit) {
  for (std::size_t i = 0; i < word_bits; ++i, ++position) {
    if ((word >> i & 1U) == 0) continue;
    if (position >= limit) return false;
    bits[position] = true;
  }
  return true;
}

}  // namespace

std::optional<std::vector<bool>> read_ewah_bitmap(std::string_view& bytes, std::size_t limit) {
  if (bytes.size() < 8) return std::nullopt;
  const std::size_t words = read_big_endian<std::uint32_t>(bytes, 4);
  const std::size_t size = 8 + words * 8 + 4;
  if (bytes.size() < size) return std::nullopt;
  std::vector<bool> bits(limit);
  std::size_t position = 0;
  for (std::size_t i = 0; i < words;) {
    // A marker word: bit 0 the running bit, 32 bits the run's length in words, 31 bits the literal
    // words behind it.
    const auto marker = read_big_endian<std::uint64_t>(bytes, 8 + 8 * i++);
    const std::uint64_t literals = marker >> 33U;
    if (!append_run(bits, position, (marker & 1U) != 0, marker >> 1U & 0xffffffffU, limit))
      return std::nullopt;
    if (literals > words - i) return std::nullopt;
    for (std::uint64_t k = 0; k < literals; ++k)
      if (!append_word(bits, position, read_big_endian<std::uint64_t>(bytes, 8 + 8 * i++), limit))
        return std::nullopt;
  }
  bytes.remove_prefix(size);
  return bits;
}

}  // namespace gpl::artifact
