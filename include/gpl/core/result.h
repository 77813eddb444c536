#pragma once

#include <cassert>
#include <string>
#include <utility>
#include <variant>

namespace gpl {

/// What kind of failure an Error is: callers choose an exit code or a way on by it.
enum class Code {
  invalid,      ///< the caller's words or data are wrong
  unsupported,  ///< understood, but not offered
  not_found,
  denied,
  too_large,
  busy,
  io,  ///< the operating system said no
};

/// A failure, with a message for a person: what failed, on what, why, and what to do.
struct Error {
  Code code;
  std::string message;
  friend bool operator==(const Error&, const Error&) = default;
};

/// A value or an Error. `value()` requires `ok()`, `error()` requires `!ok()`.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : held_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : held_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return held_.index() == 0; }
  explicit operator bool() const { return ok(); }

  const T& value() const& { return assert(ok()), std::get<0>(held_); }
  T& value() & { return assert(ok()), std::get<0>(held_); }
  T&& value() && { return assert(ok()), std::get<0>(std::move(held_)); }
  const Error& error() const& { return assert(!ok()), std::get<1>(held_); }
  Error&& error() && { return assert(!ok()), std::get<1>(std::move(held_)); }

 private:
  std::variant<T, Error> held_;
};

/// Success without a value.
using Status = Result<std::monostate>;
inline Status success() { return std::monostate{}; }

}  // namespace gpl
