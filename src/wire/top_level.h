#pragma once

#include <string>
#include <string_view>

#include "gpl/core/result.h"
#include "gpl/wire/codec.h"
#include "gpl/wire/read.h"
#include "gpl/wire/write.h"

/// The bodies of encode and decode, for the .cc files that instantiate them.
namespace gpl::wire {

/// What messages call a T: "command".
template <class T>
constexpr std::string_view title();

template <class T>
std::string encode(const T& value) {
  Writer out(std::string(1, format));
  write(out, value);
  return std::move(out).take();
}

template <class T>
Result<T> decode(std::string_view bytes) {
  const std::string what = std::string(title<T>()) + ": ";
  if (bytes.empty()) return Error{Code::invalid, what + "no bytes"};
  if (bytes[0] != format) {
    return Error{Code::unsupported,
                 what + "format " + std::to_string(static_cast<unsigned char>(bytes[0])) +
                     " at byte 0 is not known: this version of gpl reads format " +
                     std::to_string(format)};
  }
  Reader in(bytes, 1);
  T value{};
  if (!read(in, value)) return Error{Code::invalid, what + in.fault()};
  if (in.left() != 0) {
    in.fail("nothing may follow the value, found " + std::to_string(in.left()) + " bytes",
            in.position());
    return Error{Code::invalid, what + in.fault()};
  }
  return value;
}

}  // namespace gpl::wire
