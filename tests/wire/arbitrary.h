#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

#include "gpl/core/prng.h"
#include "gpl/core/specifier.h"
#include "gpl/wire/shape.h"

/// Values of any type that travels, by its list of fields: the seed decides all.
namespace gpl::wire {

template <class T>
T arbitrary(Prng& random);

namespace detail {

/// Often at the edges of a form of msgpack, or of the type.
template <class T>
T arbitrary_number(Prng& random) {
  const std::uint64_t bits = random.next() >> random.below(64);
  switch (random.below(6)) {
    case 0:
      return std::numeric_limits<T>::max();
    case 1:
      return std::numeric_limits<T>::min();
    case 2:
      return static_cast<T>((std::uint64_t{1} << random.below(64)) - random.below(2));
    case 3:
      return static_cast<T>(std::uint64_t{0} - bits);
    default:
      return static_cast<T>(bits);
  }
}

inline std::string arbitrary_string(Prng& random) {
  std::size_t size = random.below(12);
  if (random.one_in(50)) size = random.between(250, 260);
  if (random.one_in(2000)) size = random.between(65530, 65540);
  std::string out(size, '\0');
  for (char& c : out) c = static_cast<char>(random.next());
  return out;
}

template <class T>
T arbitrary_text(Prng& random) {
  constexpr const char* texts[] = {"", ">=2.1", "<3,>=2.1", "==2.4.*", "===odd", "!=1.0,~=1.2.3"};
  return T::parse(texts[random.below(std::size(texts))]).value();
}

template <class T, std::size_t... index>
T arbitrary_variant(Prng& random, std::index_sequence<index...>) {
  const std::size_t chosen = random.below(sizeof...(index));
  T out;
  ((chosen == index
        ? void(out.template emplace<index>(arbitrary<std::variant_alternative_t<index, T>>(random)))
        : void()),
   ...);
  return out;
}

template <class T>
T arbitrary_struct(Prng& random) {
  T out{};
  do {
    std::apply(
        [&](auto... member) {
          ((out.*member = arbitrary<std::remove_cvref_t<decltype(out.*member)>>(random)), ...);
        },
        fields<T>.members);
  } while (!rule<T>.words.empty() && !rule<T>.holds(out));
  return out;
}

inline std::size_t arbitrary_count(Prng& random) {
  return random.one_in(40) ? random.between(14, 18) : random.below(3);
}

template <class T>
T arbitrary_map(Prng& random) {
  T out;
  for (std::size_t left = arbitrary_count(random); left > 0; --left) {
    out[arbitrary<typename T::key_type>(random)] = arbitrary<typename T::mapped_type>(random);
  }
  return out;
}

}  // namespace detail

template <class T>
T arbitrary(Prng& random) {
  using namespace detail;
  if constexpr (std::is_same_v<T, bool>) {
    return random.one_in(2);
  } else if constexpr (std::is_integral_v<T>) {
    return arbitrary_number<T>(random);
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<T>(random.below(static_cast<std::uint64_t>(last_enumerator<T>) + 1));
  } else if constexpr (std::is_same_v<T, std::string>) {
    return arbitrary_string(random);
  } else if constexpr (is_text<T>) {
    return arbitrary_text<T>(random);
  } else if constexpr (is_optional<T>) {
    return random.one_in(2) ? T() : T(arbitrary<typename T::value_type>(random));
  } else if constexpr (is_vector<T>) {
    T out(arbitrary_count(random));
    for (auto& element : out) element = arbitrary<typename T::value_type>(random);
    return out;
  } else if constexpr (is_array<T>) {
    T out{};
    for (auto& element : out) element = arbitrary<typename T::value_type>(random);
    return out;
  } else if constexpr (is_pair<T>) {
    auto first = arbitrary<typename T::first_type>(random);
    return T(std::move(first), arbitrary<typename T::second_type>(random));
  } else if constexpr (is_map<T>) {
    return arbitrary_map<T>(random);
  } else if constexpr (is_variant<T>) {
    return arbitrary_variant<T>(random, std::make_index_sequence<std::variant_size_v<T>>());
  } else if constexpr (is_shared<T>) {
    using Pointee = std::remove_const_t<typename T::element_type>;
    return std::make_shared<const Pointee>(arbitrary<Pointee>(random));
  } else {
    return arbitrary_struct<T>(random);
  }
}

}  // namespace gpl::wire
