#pragma once

#include <string>
#include <string_view>

namespace gpl {

/// ASCII text by byte value, whatever the locale: bytes past 127 belong to no class.
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_alphanumeric(char c) { return is_digit(c) || is_upper(c) || is_lower(c); }
/// Space, tab, newline, return, form feed, vertical tab: PEP 440's whitespace.
constexpr bool is_whitespace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
constexpr char to_lower(char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }

std::string to_lower(std::string_view text);

/// The text without whitespace at either end.
std::string_view trimmed(std::string_view text);

/// The text in single quotes for a message: bytes that are not printable ASCII as \xNN (they could
/// drive a terminal), and no more than about 80 characters of it, the rest as "...".
std::string in_quotes(std::string_view text);

}  // namespace gpl
