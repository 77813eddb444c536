#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace gpl::wire {

/// Reads msgpack values from bytes that anyone may have sent, one after the other, without building
/// a tree of them. A value in a longer form than the shortest is refused, as is a length that the
/// bytes left cannot hold.
///
/// The library's parser is not used: it pushes what it finds at a visitor, while a typed decoder
/// asks for what it expects; it keeps a stack on the heap for every parse; and it does not tell a
/// claimed length from one that the input can hold.
class Reader {
 public:
  /// Reads from byte `at` on. The bytes must remain live while the Reader and what it returned are.
  Reader(std::string_view bytes, std::size_t at) : bytes_(bytes), at_(at) {}

  // Each reads one value; false when there is another or none, and then the fault is noted.
  [[nodiscard]] bool boolean(bool& value);
  [[nodiscard]] bool bytes(std::string_view& value);
  template <std::integral T>
  [[nodiscard]] bool number(T& value) {
    std::uint64_t bits = 0;
    if (!number(std::int64_t{std::numeric_limits<T>::min()},
                std::uint64_t{std::numeric_limits<T>::max()}, bits)) {
      return false;
    }
    value = static_cast<T>(bits);
    return true;
  }
  /// Passes over one value and what is in it, however deep.
  [[nodiscard]] bool skip();

  // Each reads how many values, or pairs of them, follow. `smallest` is the least number of bytes
  // that one (a pair) takes: a count for which too few bytes are left is refused.
  [[nodiscard]] bool array(std::size_t& count, std::size_t smallest);
  [[nodiscard]] bool map(std::size_t& count, std::size_t smallest);

  /// Whether the next value is nothing (nil); if so it is read.
  bool nothing();

  std::size_t position() const { return at_; }
  std::size_t left() const { return bytes_.size() - at_; }

  /// Notes a fault in what begins at byte `at`. Always false.
  bool fail(std::string what, std::size_t at);
  /// Says where the noted fault is: "field 3 of submit". From the inside out.
  void within(std::string where);
  /// "field 3 of submit: expected a string at byte 17". Requires a fault.
  const std::string& fault() const { return fault_; }

 private:
  [[nodiscard]] bool number(std::int64_t low, std::uint64_t high, std::uint64_t& bits);
  bool ended(std::string_view expected);
  bool head(unsigned char& byte, std::string_view expected);
  bool tail(std::size_t size, std::uint64_t& value);
  bool length(std::size_t size, std::uint64_t smallest, std::size_t& value);
  bool count_fits(std::size_t count, std::size_t smallest, std::size_t start);
  bool unexpected(std::string_view expected, std::size_t at);

  std::string_view bytes_;
  std::size_t at_;
  std::string fault_;
  bool has_place_ = false;
};

}  // namespace gpl::wire
