#include "gpl/core/size.h"

#include <array>
#include <cstddef>
#include <limits>
#include <optional>

namespace gpl {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t bytes;
};

constexpr std::uint64_t kibi = 1024;
constexpr std::array<Unit, 9> units = {{{"", 1},
                                        {"K", 1'000},
                                        {"M", 1'000'000},
                                        {"G", 1'000'000'000},
                                        {"T", 1'000'000'000'000},
                                        {"Ki", kibi},
                                        {"Mi", kibi* kibi},
                                        {"Gi", kibi* kibi* kibi},
                                        {"Ti", kibi* kibi* kibi* kibi}}};

constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();

/// `at` counts from 0, the message from 1.
Error refused(std::string_view text, std::string_view why, std::size_t at) {
  return Error{Code::invalid, "'" + std::string(text) + "' is not a size: " + std::string(why) +
                                  ", at column " + std::to_string(at + 1) +
                                  "; write bytes, or 512M, 1.5G (1000) or 16Gi (1024)"};
}

Error too_large(std::string_view text) {
  return Error{Code::invalid, "'" + std::string(text) + "' is too large a size: the largest is " +
                                  std::to_string(largest) + " bytes"};
}

std::string_view digits_from(std::string_view text, std::size_t from) {
  std::size_t end = from;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  return text.substr(from, end - from);
}

/// number * unit_bytes, or nothing when 64 bits do not hold it.
std::optional<std::uint64_t> whole_bytes(std::string_view digits, std::uint64_t unit_bytes) {
  std::uint64_t number = 0;
  for (char c : digits) {
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (number > (largest - digit) / 10) return std::nullopt;
    number = number * 10 + digit;
  }
  if (number > largest / unit_bytes) return std::nullopt;
  return number * unit_bytes;
}

/// 0.DIGITS * unit_bytes, rounded down. From the last digit up, since a floor of floors of
/// tenths is the floor of the whole: exact for any number of digits, and below unit_bytes.
std::uint64_t fraction_bytes(std::string_view digits, std::uint64_t unit_bytes) {
  std::uint64_t bytes = 0;
  for (std::size_t i = digits.size(); i-- > 0;)
    bytes = (static_cast<std::uint64_t>(digits[i] - '0') * unit_bytes + bytes) / 10;
  return bytes;
}

/// bytes / unit in tenths, rounded to the nearest.
std::uint64_t tenths_of(std::uint64_t bytes, std::uint64_t unit) {
  const std::uint64_t rest_tenths = (bytes % unit * 10 + unit / 2) / unit;
  return bytes / unit * 10 + rest_tenths;
}

std::string with_one_decimal(std::uint64_t tenths) {
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
}

}  // namespace

Result<std::uint64_t> parse_size(std::string_view text) {
  const std::string_view whole = digits_from(text, 0);
  if (whole.empty()) return refused(text, text.empty() ? "it is empty" : "it has no number", 0);
  std::size_t at = whole.size();
  std::string_view fraction;
  if (at < text.size() && text[at] == '.') {
    fraction = digits_from(text, at + 1);
    if (fraction.empty()) return refused(text, "a digit is missing after '.'", at + 1);
    at += 1 + fraction.size();
  }
  std::string_view name = text.substr(at);
  if (name.ends_with('B')) name.remove_suffix(1);
  for (const Unit& unit : units) {
    if (unit.name != name) continue;
    if (unit.bytes == 1 && !fraction.empty()) return refused(text, "a fraction needs a unit", at);
    const auto bytes = whole_bytes(whole, unit.bytes);
    const std::uint64_t rest = fraction_bytes(fraction, unit.bytes);
    if (!bytes || rest > largest - *bytes) return too_large(text);
    return *bytes + rest;
  }
  return refused(text,
                 "'" + std::string(text.substr(at)) + "' is not a unit (K M G T, Ki Mi Gi Ti)", at);
}

std::string format_memory_size(std::uint64_t bytes) {
  if (bytes < kibi) return std::to_string(bytes) + " B";
  constexpr std::array<Unit, 3> shown = {
      {{"KiB", kibi}, {"MiB", kibi * kibi}, {"GiB", kibi * kibi * kibi}}};
  std::size_t i = 0;
  // What would round to 1024.0 is the next unit's 1.0.
  while (i + 1 < shown.size() && tenths_of(bytes, shown[i].bytes) >= kibi * 10) ++i;
  return with_one_decimal(tenths_of(bytes, shown[i].bytes)) + " " + std::string(shown[i].name);
}

std::string format_file_size(std::uint64_t bytes) {
  if (bytes < 1000) return std::to_string(bytes) + " B";
  constexpr std::array<Unit, 4> shown = {
      {{"KB", 1'000}, {"MB", 1'000'000}, {"GB", 1'000'000'000}, {"TB", 1'000'000'000'000}}};
  std::size_t i = 0;
  // From 10 on it is shown whole, so 999.5 would show as 1000: that is the next unit's 1.
  while (i + 1 < shown.size() && tenths_of(bytes, shown[i].bytes) >= 9995) ++i;
  const std::uint64_t tenths = tenths_of(bytes, shown[i].bytes);
  const bool whole = tenths >= 100 || tenths % 10 == 0;
  return (whole ? std::to_string((tenths + 5) / 10) : with_one_decimal(tenths)) + " " +
         std::string(shown[i].name);
}

}  // namespace gpl
