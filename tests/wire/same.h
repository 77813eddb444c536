#pragma once

#include <algorithm>
#include <tuple>
#include <variant>

#include "gpl/wire/shape.h"

/// Equality of values that travel, member by member, through pointers, whether or not the types
/// have an == of their own. Says nothing of how they are encoded.
namespace gpl::wire {

template <class T>
bool same(const T& a, const T& b) {
  if constexpr (is_optional<T>) {
    return a.has_value() == b.has_value() && (!a || same(*a, *b));
  } else if constexpr (is_shared<T>) {
    return a && b && same(*a, *b);
  } else if constexpr (is_vector<T> || is_array<T> || is_map<T>) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const auto& x, const auto& y) { return same(x, y); });
  } else if constexpr (requires { a.first, a.second; } && !Listed<T>) {
    return same(a.first, b.first) && same(a.second, b.second);
  } else if constexpr (is_variant<T>) {
    return a.index() == b.index() && std::visit(
                                         [&](const auto& held) {
                                           using Pointee = std::remove_cvref_t<decltype(held)>;
                                           return same(held, *std::get_if<Pointee>(&b));
                                         },
                                         a);
  } else if constexpr (Listed<T>) {
    return std::apply([&](auto... member) { return (same(a.*member, b.*member) && ...); },
                      fields<T>.members);
  } else {
    return a == b;
  }
}

}  // namespace gpl::wire
