#pragma once

#include <cassert>
#include <concepts>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <variant>

#include "gpl/wire/shape.h"
#include "gpl/wire/writer.h"

namespace gpl::wire {

/// Writes any type that has a form (see read.h for the inverse). A struct is an array of its
/// fields, a variant [alternative, value], an optional its value or nil, a string bin, an enum its
/// number.
template <class T>
void write(Writer& out, const T& value);

namespace detail {

template <class T>
void write_struct(Writer& out, const T& value) {
  if constexpr (!is_bare<T>) out.array(fields<T>.count);
  std::apply([&](auto... member) { (write(out, value.*member), ...); }, fields<T>.members);
}

template <class T>
void write_variant(Writer& out, const T& value) {
  out.array(2);
  out.natural(value.index());
  std::visit([&](const auto& held) { write(out, held); }, value);
}

template <class T>
void write_map(Writer& out, const T& value) {
  out.map(value.size());
  for (const auto& [key, mapped] : value) {
    write(out, key);
    write(out, mapped);
  }
}

template <class T>
void write_enum(Writer& out, T value) {
  const auto number = static_cast<std::uint64_t>(value);
  assert(number <= static_cast<std::uint64_t>(last_enumerator<T>));
  out.natural(number);
}

}  // namespace detail

template <class T>
void write(Writer& out, const T& value) {
  if constexpr (!rule<T>.words.empty()) assert(rule<T>.holds(value));
  if constexpr (std::same_as<T, bool>) {
    out.boolean(value);
  } else if constexpr (std::unsigned_integral<T>) {
    out.natural(value);
  } else if constexpr (std::signed_integral<T>) {
    out.integer(value);
  } else if constexpr (std::is_enum_v<T>) {
    detail::write_enum(out, value);
  } else if constexpr (std::same_as<T, std::string>) {
    out.bytes(value);
  } else if constexpr (is_text<T>) {
    out.bytes(value.to_string());
  } else if constexpr (is_optional<T>) {
    value ? write(out, *value) : out.nothing();
  } else if constexpr (is_vector<T> || is_array<T>) {
    out.array(value.size());
    for (const auto& element : value) write(out, element);
  } else if constexpr (is_pair<T>) {
    out.array(2);
    write(out, value.first);
    write(out, value.second);
  } else if constexpr (is_map<T>) {
    detail::write_map(out, value);
  } else if constexpr (is_variant<T>) {
    detail::write_variant(out, value);
  } else if constexpr (is_shared<T>) {
    assert(value != nullptr);
    write(out, *value);
  } else {
    static_assert(Listed<T>, "there is no list of this struct's fields");
    detail::write_struct(out, value);
  }
}

}  // namespace gpl::wire
