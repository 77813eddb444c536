#pragma once

#include <concepts>
#include <cstddef>
#include <cstdlib>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

/// What the codec knows of a type of the model: one list of its members, used to encode and to
/// decode. The lists are in NOUN_fields.h; whatever is in none of them does not compile.
namespace gpl::wire {

/// The members of T in the order in which they travel.
template <class T, class... Members>
struct FieldList {
  std::string_view name;  ///< for messages: "job spec"
  std::tuple<Members T::*...> members;
  static constexpr std::size_t count = sizeof...(Members);
};

struct NotListed {};
/// The list of T: specialised by `list_of` for every struct that travels.
template <class T>
inline constexpr auto fields = NotListed{};
template <class T>
concept Listed = !std::same_as<std::remove_cv_t<decltype(fields<T>)>, NotListed>;

/// True for a struct of one member that travels as that member, without an array around it.
template <class T>
inline constexpr bool is_bare = false;

/// True for a struct of which a newer gpl may send more fields: those at the end that are not known
/// here are passed over. Never for what is in the log or in a snapshot, where an unknown field
/// would let state machines differ.
template <class T>
inline constexpr bool is_extensible = false;

/// True for a class that travels as its text: to_string(), and T::parse(text), which returns a
/// Result.
template <class T>
inline constexpr bool is_text = false;

/// What values of T have to fulfil beyond the types of their members. Required of what is encoded;
/// what does not is refused when decoded.
template <class T>
struct Rule {
  bool (*holds)(const T&) = nullptr;
  std::string_view words;  ///< "the first task is not after the last"; empty: nothing is asked
};
template <class T>
inline constexpr Rule<T> rule = {};

/// The last enumerator of E, whose values are 0 to that one without gaps: made by `last_is`.
template <class E>
inline constexpr auto last_enumerator = NotListed{};

namespace detail {

/// Converts to a member of any type: counts the members of an aggregate. Declared only.
struct AnyMember {
  template <class T>
  operator T() const;
};

template <class T, std::size_t... I>
constexpr bool takes_members(std::index_sequence<I...>) {
  return requires { T{(static_cast<void>(I), AnyMember{})...}; };
}
template <class T, std::size_t count>
inline constexpr bool has_members =
    std::is_aggregate_v<T>&& takes_members<T>(std::make_index_sequence<count>()) &&
    !takes_members<T>(std::make_index_sequence<count + 1>());

template <class A, class B>
constexpr bool is_same(A, B) {
  return false;
}
template <class A>
constexpr bool is_same(A a, A b) {
  return a == b;
}
constexpr bool all_differ() { return true; }
template <class First, class... Rest>
constexpr bool all_differ([[maybe_unused]] First first, Rest... rest) {
  return !(is_same(first, rest) || ...) && all_differ(rest...);
}

/// The compiler's spelling of an enumerator; a value without a name is spelt as a cast, "(E)3".
template <auto value>
constexpr std::string_view spelling() {
  return __PRETTY_FUNCTION__;
}
template <auto value>
constexpr bool is_named() {
  const std::string_view text = spelling<value>();
  const std::size_t start = text.find("value = ");
  return text[start + std::string_view("value = ").size()] != '(';
}

}  // namespace detail

/// The list of T. Does not compile unless it has every member of T, each once: a member that is
/// added to a struct is added to its list, and for the log that is a new feature level.
template <class T, class... Members>
consteval FieldList<T, Members...> list_of(std::string_view name, Members T::*... members) {
  static_assert(detail::has_members<T, sizeof...(Members)>,
                "the list does not have as many members as the struct");
  if (!detail::all_differ(members...)) std::abort();  // a member is listed twice
  return {name, {members...}};
}

/// Does not compile when an enumerator follows `last`.
template <auto last>
consteval auto last_is() {
  using E = decltype(last);
  constexpr auto next = static_cast<E>(static_cast<std::underlying_type_t<E>>(last) + 1);
  static_assert(detail::is_named<last>() && !detail::is_named<next>(),
                "this is not the last enumerator");
  return last;
}

}  // namespace gpl::wire
