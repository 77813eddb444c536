#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gpl/core/result.h"

namespace gpl::store {

/// Code::invalid for a file of a log that is not as it was written: where, what is wrong, and the
/// way out (gpl-wal(5)).
Error damage(std::string_view file, std::uint64_t offset, std::string_view what);

/// The same for what is wrong with the folder as a whole: a file that is missing.
Error damage(std::string_view what);

/// Code::unsupported for what a later version of gpl has written.
Error too_new(std::string_view file, std::uint64_t offset, std::string_view what);

struct Place {
  std::string file;
  std::uint64_t offset = 0;
  friend bool operator==(const Place&, const Place&) = default;
};
/// Where it is, of an error that one of these made. Nothing: not at one place, or another error.
std::optional<Place> place_of(const Error& error);

/// The message without the way out, for what can be passed over.
std::string without_way_out(const Error& error);

}  // namespace gpl::store
