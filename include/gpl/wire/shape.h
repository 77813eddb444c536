#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "gpl/wire/fields.h"

/// How a type of C++ travels: which of the forms that write.h and read.h know it has.
namespace gpl::wire {

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;

template <class T>
inline constexpr bool is_array = false;
template <class T, std::size_t count>
inline constexpr bool is_array<std::array<T, count>> = true;

template <class T>
inline constexpr bool is_pair = false;
template <class A, class B>
inline constexpr bool is_pair<std::pair<A, B>> = true;

template <class T>
inline constexpr bool is_map = false;
template <class K, class V>
inline constexpr bool is_map<std::map<K, V>> = true;

template <class T>
inline constexpr bool is_variant = false;
template <class... T>
inline constexpr bool is_variant<std::variant<T...>> = true;

template <class T>
inline constexpr bool is_shared = false;
template <class T>
inline constexpr bool is_shared<std::shared_ptr<const T>> = true;

template <class T>
constexpr std::size_t smallest_encoding();

namespace detail {

template <class... T>
constexpr std::size_t sum_of_smallest(const std::tuple<T...>*) {
  return (std::size_t{0} + ... + smallest_encoding<T>());
}
template <class... T>
constexpr std::size_t least_of_smallest(const std::variant<T...>*) {
  return std::min({smallest_encoding<T>()...});
}
template <class T, class... Members>
constexpr std::size_t sum_of_members(const FieldList<T, Members...>&) {
  return (std::size_t{0} + ... + smallest_encoding<Members>());
}

}  // namespace detail

/// The fewest bytes that a T takes: what a claimed number of them is checked against.
template <class T>
constexpr std::size_t smallest_encoding() {
  constexpr std::size_t head = 1;
  if constexpr (std::is_same_v<T, std::string> || is_text<T>) {
    return head + 1;
  } else if constexpr (is_array<T>) {
    return head + std::tuple_size_v<T> * smallest_encoding<typename T::value_type>();
  } else if constexpr (is_pair<T>) {
    return head + smallest_encoding<typename T::first_type>() +
           smallest_encoding<typename T::second_type>();
  } else if constexpr (is_variant<T>) {
    return head + 1 + detail::least_of_smallest(static_cast<const T*>(nullptr));
  } else if constexpr (is_shared<T>) {
    return smallest_encoding<std::remove_const_t<typename T::element_type>>();
  } else if constexpr (Listed<T>) {
    return (is_bare<T> ? 0 : head) + detail::sum_of_members(fields<T>);
  }
  return head;
}

}  // namespace gpl::wire
