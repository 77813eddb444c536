#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "gpl/wire/reader.h"
#include "gpl/wire/shape.h"

namespace gpl::wire {

/// Reads into `value`, which must be as its default constructor made it, what `write` writes; false
/// with the fault noted in `in` for anything else: lists and structs of another length, numbers
/// that the type cannot hold, unknown enumerators and alternatives, maps whose keys do not ascend
/// (equal ones included), texts not in their normal form. So what is read is written again as it
/// was.
template <class T>
[[nodiscard]] bool read(Reader& in, T& value);

namespace detail {

inline std::string counted(std::size_t count, std::string_view what) {
  return std::to_string(count) + " " + std::string(what);
}

template <class T>
bool read_struct(Reader& in, T& value) {
  constexpr std::size_t known = fields<T>.count;
  const std::size_t start = in.position();
  std::size_t count = known;
  if constexpr (!is_bare<T>) {
    if (!in.array(count, 1)) return false;
    if (count < known || (count > known && !is_extensible<T>)) {
      return in.fail("expected " + counted(known, "fields of ") + std::string(fields<T>.name) +
                         ", found " + std::to_string(count),
                     start);
    }
  }
  std::size_t number = 0;
  const bool all =
      std::apply([&](auto... member) { return ((++number, read(in, value.*member)) && ...); },
                 fields<T>.members);
  for (; all && number < count; ++number) {
    if (!in.skip()) return false;
  }
  if (!all && !is_bare<T>)
    in.within("field " + std::to_string(number) + " of " + std::string(fields<T>.name));
  return all;
}

template <class T, std::size_t index>
bool read_alternative(Reader& in, T& value) {
  return read(in, value.template emplace<index>());
}

template <class T, std::size_t... index>
bool read_variant(Reader& in, T& value, std::index_sequence<index...>) {
  constexpr std::array<bool (*)(Reader&, T&), sizeof...(index)> alternatives = {
      &read_alternative<T, index>...};
  const std::size_t start = in.position();
  std::size_t count = 0;
  if (!in.array(count, 1)) return false;
  if (count != 2) return in.fail("expected a pair of alternative and value", start);
  std::size_t number = 0;
  const std::size_t at = in.position();
  if (!in.number(number)) return false;
  if (number >= alternatives.size()) {
    return in.fail("there is no alternative " + std::to_string(number), at);
  }
  return alternatives[number](in, value);
}

template <class T>
bool read_vector(Reader& in, T& value) {
  constexpr std::size_t smallest = smallest_encoding<typename T::value_type>();
  static_assert(sizeof(typename T::value_type) <= 200 * smallest,
                "a few bytes would take too much memory: see decode in codec.h");
  std::size_t count = 0;
  if (!in.array(count, smallest)) return false;
  value.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (!read(in, value.emplace_back())) return false;
  }
  return true;
}

template <class T>
bool read_array(Reader& in, T& value) {
  const std::size_t start = in.position();
  std::size_t count = 0;
  if (!in.array(count, 1)) return false;
  if (count != value.size()) return in.fail("expected " + counted(value.size(), "elements"), start);
  for (auto& element : value) {
    if (!read(in, element)) return false;
  }
  return true;
}

template <class T>
bool read_pair(Reader& in, T& value) {
  const std::size_t start = in.position();
  std::size_t count = 0;
  if (!in.array(count, 1)) return false;
  if (count != 2) return in.fail("expected a pair", start);
  return read(in, value.first) && read(in, value.second);
}

template <class T>
bool read_map(Reader& in, T& value) {
  using Key = typename T::key_type;
  using Mapped = typename T::mapped_type;
  std::size_t count = 0;
  if (!in.map(count, smallest_encoding<Key>() + smallest_encoding<Mapped>())) return false;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t start = in.position();
    Key key{};
    if (!read(in, key)) return false;
    if (!value.empty() && !(value.rbegin()->first < key)) {
      return in.fail("a key that is not above the one before it", start);
    }
    if (!read(in, value.emplace_hint(value.end(), std::move(key), Mapped{})->second)) return false;
  }
  return true;
}

template <class T>
bool read_enum(Reader& in, T& value) {
  const std::size_t start = in.position();
  std::uint64_t number = 0;
  if (!in.number(number)) return false;
  if (number > static_cast<std::uint64_t>(last_enumerator<T>)) {
    return in.fail("there is no value " + std::to_string(number), start);
  }
  value = static_cast<T>(number);
  return true;
}

inline bool read_string(Reader& in, std::string& value) {
  std::string_view bytes;
  if (!in.bytes(bytes)) return false;
  value = bytes;
  return true;
}

template <class T>
bool read_text(Reader& in, T& value) {
  const std::size_t start = in.position();
  std::string_view text;
  if (!in.bytes(text)) return false;
  auto parsed = T::parse(text);
  if (!parsed.ok()) return in.fail(std::move(parsed).error().message, start);
  value = std::move(parsed).value();
  if (value.to_string() != text) return in.fail("a text that is not in its normal form", start);
  return true;
}

template <class T>
bool read_shared(Reader& in, T& value) {
  auto made = std::make_shared<std::remove_const_t<typename T::element_type>>();
  if (!read(in, *made)) return false;
  value = std::move(made);
  return true;
}

template <class T>
bool read_form(Reader& in, T& value) {
  if constexpr (std::same_as<T, bool>) {
    return in.boolean(value);
  } else if constexpr (std::integral<T>) {
    return in.number(value);
  } else if constexpr (std::is_enum_v<T>) {
    return read_enum(in, value);
  } else if constexpr (std::same_as<T, std::string>) {
    return read_string(in, value);
  } else if constexpr (is_text<T>) {
    return read_text(in, value);
  } else if constexpr (is_optional<T>) {
    return in.nothing() || read(in, value.emplace());
  } else if constexpr (is_vector<T>) {
    return read_vector(in, value);
  } else if constexpr (is_array<T>) {
    return read_array(in, value);
  } else if constexpr (is_pair<T>) {
    return read_pair(in, value);
  } else if constexpr (is_map<T>) {
    return read_map(in, value);
  } else if constexpr (is_variant<T>) {
    return read_variant(in, value, std::make_index_sequence<std::variant_size_v<T>>());
  } else if constexpr (is_shared<T>) {
    return read_shared(in, value);
  } else {
    static_assert(Listed<T>, "there is no list of this struct's fields");
    return read_struct(in, value);
  }
}

}  // namespace detail

template <class T>
bool read(Reader& in, T& value) {
  const std::size_t start = in.position();
  if (!detail::read_form(in, value)) return false;
  if constexpr (!rule<T>.words.empty()) {
    if (!rule<T>.holds(value)) {
      return in.fail("expected that " + std::string(rule<T>.words), start);
    }
  }
  return true;
}

}  // namespace gpl::wire
