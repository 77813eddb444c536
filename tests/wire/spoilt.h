#pragma once

#include <string>
#include <string_view>

#include "arbitrary.h"
#include "gpl/wire/codec.h"

namespace gpl::wire {

/// The encoding of some value, with bytes of it changed. `how` has a seed of two bytes, then a
/// place (two bytes) and what to write there, again and again. Empty when it is too short for a
/// seed.
template <class T>
std::string spoilt(std::string_view how) {
  const auto number = [&](std::size_t at) {
    return static_cast<std::size_t>(static_cast<unsigned char>(how[at]) << 8 |
                                    static_cast<unsigned char>(how[at + 1]));
  };
  if (how.size() < 2) return {};
  Prng random(number(0));
  std::string bytes = encode(arbitrary<T>(random));
  for (std::size_t i = 2; i + 3 <= how.size(); i += 3) bytes[number(i) % bytes.size()] = how[i + 2];
  return bytes;
}

}  // namespace gpl::wire
