#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpl::store {

/// A number as file names have it: 20 digits, so that names sort as numbers do.
std::string file_number(std::uint64_t number);

/// Takes such a number from the front of `text`. Nothing: there is none; `text` is as it was.
std::optional<std::uint64_t> take_file_number(std::string_view& text);

}  // namespace gpl::store
