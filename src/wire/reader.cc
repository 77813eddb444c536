#include "gpl/wire/reader.h"

#include <array>
#include <cassert>

namespace gpl::wire {
namespace {

// The first bytes of values (the msgpack specification's section on formats). Numbers from 0 to 127
// and from -32 to -1, and short maps and arrays, have their value in the same byte.
constexpr unsigned char short_map = 0x80;
constexpr unsigned char short_array = 0x90;
constexpr unsigned char short_string = 0xa0;
constexpr unsigned char nil = 0xc0;
constexpr unsigned char never_used = 0xc1;
constexpr unsigned char false_byte = 0xc2;
constexpr unsigned char true_byte = 0xc3;
constexpr unsigned char bin_8 = 0xc4;
constexpr unsigned char bin_32 = 0xc6;
constexpr unsigned char ext_8 = 0xc7;
constexpr unsigned char ext_32 = 0xc9;
constexpr unsigned char float_32 = 0xca;
constexpr unsigned char float_64 = 0xcb;
constexpr unsigned char natural_8 = 0xcc;
constexpr unsigned char natural_64 = 0xcf;
constexpr unsigned char integer_8 = 0xd0;
constexpr unsigned char integer_64 = 0xd3;
constexpr unsigned char fixed_ext_1 = 0xd4;
constexpr unsigned char fixed_ext_16 = 0xd8;
constexpr unsigned char string_8 = 0xd9;
constexpr unsigned char string_32 = 0xdb;
constexpr unsigned char array_16 = 0xdc;
constexpr unsigned char array_32 = 0xdd;
constexpr unsigned char map_16 = 0xde;
constexpr unsigned char map_32 = 0xdf;
constexpr unsigned char small_negative = 0xe0;

/// The size that the byte stands for, among sizes that double from `first` on.
constexpr std::size_t doubled(unsigned char byte, unsigned char first) {
  return std::size_t{1} << (byte - first);
}
constexpr bool is_between(unsigned char byte, unsigned char first, unsigned char last) {
  return first <= byte && byte <= last;
}

/// What a person may call the value that begins with this byte.
std::string_view kind_of(unsigned char byte) {
  if (byte < short_map || byte >= small_negative) return "a number";
  if (is_between(byte, natural_8, natural_64) || is_between(byte, integer_8, integer_64)) {
    return "a number";
  }
  if (byte < short_array || is_between(byte, map_16, map_32)) return "a map";
  if (byte < short_string || is_between(byte, array_16, array_32)) return "an array";
  if (is_between(byte, bin_8, bin_32)) return "a string";
  if (byte < nil || is_between(byte, string_8, string_32)) return "text";
  if (byte == nil) return "nothing";
  if (byte == false_byte || byte == true_byte) return "true or false";
  if (byte == float_32 || byte == float_64) return "a fraction";
  if (byte == never_used) return "a byte that begins no value";
  return "an extension";
}

std::uint64_t sign_extended(std::uint64_t value, std::size_t size) {
  const std::uint64_t sign = std::uint64_t{1} << (8 * size - 1);
  return (value ^ sign) - sign;
}

}  // namespace

bool Reader::fail(std::string what, std::size_t at) {
  fault_ = std::move(what) + " at byte " + std::to_string(at);
  return false;
}

void Reader::within(std::string where) {
  assert(!fault_.empty());
  fault_ = std::move(where) + (has_place_ ? ", " : ": ") + fault_;
  has_place_ = true;
}

bool Reader::unexpected(std::string_view expected, std::size_t at) {
  const auto byte = static_cast<unsigned char>(bytes_[at]);
  return fail("expected " + std::string(expected) + ", found " + std::string(kind_of(byte)), at);
}

bool Reader::ended(std::string_view expected) {
  return fail("expected " + std::string(expected) + ", found the end", at_);
}

bool Reader::head(unsigned char& byte, std::string_view expected) {
  if (left() == 0) return ended(expected);
  byte = static_cast<unsigned char>(bytes_[at_++]);
  return true;
}

/// A big-endian number of that many bytes.
bool Reader::tail(std::size_t size, std::uint64_t& value) {
  if (left() < size) return fail("the end within a value", at_);
  value = 0;
  for (std::size_t i = 0; i < size; ++i) {
    value = value << 8 | static_cast<unsigned char>(bytes_[at_++]);
  }
  return true;
}

/// A length of `size` bytes that has no shorter form: the shorter one goes up to below `smallest`.
bool Reader::length(std::size_t size, std::uint64_t smallest, std::size_t& value) {
  const std::size_t start = at_ - 1;
  std::uint64_t read = 0;
  if (!tail(size, read)) return false;
  if (read < smallest) return fail("a longer form than needed", start);
  value = read;
  return true;
}

bool Reader::boolean(bool& value) {
  unsigned char byte = 0;
  if (!head(byte, "true or false")) return false;
  if (byte != true_byte && byte != false_byte) return unexpected("true or false", at_ - 1);
  value = byte == true_byte;
  return true;
}

bool Reader::nothing() {
  if (left() == 0 || static_cast<unsigned char>(bytes_[at_]) != nil) return false;
  ++at_;
  return true;
}

bool Reader::number(std::int64_t low, std::uint64_t high, std::uint64_t& bits) {
  // The least number that has no form of fewer bytes, by the form's size: 1, 2, 4, 8.
  constexpr std::array<std::uint64_t, 4> least = {1u << 7, 1u << 8, 1u << 16,
                                                  std::uint64_t{1} << 32};
  // And the greatest negative one.
  constexpr std::array<std::int64_t, 4> greatest = {-33, -129, -32769, -2147483649};

  const std::size_t start = at_;
  unsigned char byte = 0;
  if (!head(byte, "a number")) return false;
  bool is_negative = false;
  bool is_shortest = true;
  if (byte < short_map) {
    bits = byte;
  } else if (byte >= small_negative) {
    bits = sign_extended(byte, 1);
    is_negative = true;
  } else if (is_between(byte, natural_8, natural_64)) {
    if (!tail(doubled(byte, natural_8), bits)) return false;
    is_shortest = bits >= least[byte - natural_8];
  } else if (is_between(byte, integer_8, integer_64)) {
    const std::size_t size = doubled(byte, integer_8);
    if (!tail(size, bits)) return false;
    bits = sign_extended(bits, size);
    is_negative = true;  // else it is not the shortest
    is_shortest = static_cast<std::int64_t>(bits) <= greatest[byte - integer_8];
  } else {
    return unexpected("a number", start);
  }
  if (!is_shortest) return fail("a longer form than needed", start);
  if (is_negative ? static_cast<std::int64_t>(bits) < low : bits > high) {
    const std::string found =
        is_negative ? std::to_string(static_cast<std::int64_t>(bits)) : std::to_string(bits);
    return fail("expected a number from " + std::to_string(low) + " to " + std::to_string(high) +
                    ", found " + found,
                start);
  }
  return true;
}

bool Reader::bytes(std::string_view& value) {
  const std::size_t start = at_;
  unsigned char byte = 0;
  if (!head(byte, "a string")) return false;
  if (!is_between(byte, bin_8, bin_32)) return unexpected("a string", start);
  const std::size_t size = doubled(byte, bin_8);
  std::size_t count = 0;
  if (!length(size, size == 1 ? 0 : std::uint64_t{1} << (4 * size), count)) return false;
  if (!count_fits(count, 1, start)) return false;
  value = bytes_.substr(at_, count);
  at_ += count;
  return true;
}

bool Reader::count_fits(std::size_t count, std::size_t smallest, std::size_t start) {
  assert(0 < smallest && smallest < 1u << 31);  // and the count is below 2^32
  if (count * smallest <= left()) return true;
  return fail("its length is given as " + std::to_string(count) + ", and only " +
                  std::to_string(left()) + " bytes are left",
              start);
}

bool Reader::array(std::size_t& count, std::size_t smallest) {
  const std::size_t start = at_;
  unsigned char byte = 0;
  if (!head(byte, "an array")) return false;
  if (is_between(byte, short_array, short_string - 1)) {
    count = byte - short_array;
  } else if (byte == array_16) {
    if (!length(2, 16, count)) return false;
  } else if (byte == array_32) {
    if (!length(4, 1u << 16, count)) return false;
  } else {
    return unexpected("an array", start);
  }
  return count_fits(count, smallest, start);
}

bool Reader::map(std::size_t& count, std::size_t smallest) {
  const std::size_t start = at_;
  unsigned char byte = 0;
  if (!head(byte, "a map")) return false;
  if (is_between(byte, short_map, short_array - 1)) {
    count = byte - short_map;
  } else if (byte == map_16) {
    if (!length(2, 16, count)) return false;
  } else if (byte == map_32) {
    if (!length(4, 1u << 16, count)) return false;
  } else {
    return unexpected("a map", start);
  }
  return count_fits(count, smallest, start);
}

bool Reader::skip() {
  // Counted, not recursed into: how deep values are nested does not matter.
  for (std::uint64_t pending = 1; pending > 0; --pending) {
    const std::size_t start = at_;
    unsigned char byte = 0;
    if (!head(byte, "a value")) return false;
    std::uint64_t values = 0;  // that follow
    std::uint64_t size = 0;    // bytes that follow
    if (byte < short_map || byte >= small_negative) continue;
    if (byte < short_array) {
      values = std::uint64_t{2} * (byte - short_map);
    } else if (byte < short_string) {
      values = byte - short_array;
    } else if (byte < nil) {
      size = byte - short_string;
    } else if (is_between(byte, bin_8, bin_32)) {
      if (!tail(doubled(byte, bin_8), size)) return false;
    } else if (is_between(byte, ext_8, ext_32)) {
      if (!tail(doubled(byte, ext_8), size)) return false;
      ++size;  // its type
    } else if (byte == float_32 || byte == float_64) {
      size = byte == float_32 ? 4 : 8;
    } else if (is_between(byte, natural_8, natural_64)) {
      size = doubled(byte, natural_8);
    } else if (is_between(byte, integer_8, integer_64)) {
      size = doubled(byte, integer_8);
    } else if (is_between(byte, fixed_ext_1, fixed_ext_16)) {
      size = doubled(byte, fixed_ext_1) + 1;
    } else if (is_between(byte, string_8, string_32)) {
      if (!tail(doubled(byte, string_8), size)) return false;
    } else if (is_between(byte, array_16, array_32)) {
      if (!tail(byte == array_16 ? 2 : 4, values)) return false;
    } else if (is_between(byte, map_16, map_32)) {
      if (!tail(byte == map_16 ? 2 : 4, values)) return false;
      values *= 2;
    } else if (byte == never_used) {
      return unexpected("a value", start);
    }
    if (size > left() || values > left()) return fail("the end within a value", start);
    at_ += size;
    pending += values;
  }
  return true;
}

}  // namespace gpl::wire
