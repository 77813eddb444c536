#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace gpl::wire {

/// Appends values to bytes in msgpack, each in its shortest form.
class Writer {
 public:
  /// Begins with `start`, which is no msgpack value.
  explicit Writer(std::string start) : bytes_(std::move(start)) {}

  void natural(std::uint64_t value);
  void integer(std::int64_t value);
  void boolean(bool value);
  void nothing();
  /// These require fewer than 2^32 bytes, elements or pairs.
  void bytes(std::string_view value);
  void array(std::size_t count);  ///< that many values follow
  void map(std::size_t count);    ///< that many pairs of values follow

  std::string take() && { return std::move(bytes_); }

 private:
  std::string bytes_;
};

}  // namespace gpl::wire
