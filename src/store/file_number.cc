#include "file_number.h"

#include <charconv>

namespace gpl::store {
namespace {

constexpr std::size_t digits = 20;

}  // namespace

std::string file_number(std::uint64_t number) {
  const std::string text = std::to_string(number);
  return std::string(digits - text.size(), '0') + text;
}

std::optional<std::uint64_t> take_file_number(std::string_view& text) {
  if (text.size() < digits) return std::nullopt;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + digits, number);
  if (error != std::errc{} || end != text.data() + digits) return std::nullopt;
  text.remove_prefix(digits);
  return number;
}

}  // namespace gpl::store
