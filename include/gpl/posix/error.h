#pragma once

#include <cerrno>
#include <string>
#include <string_view>

#include "gpl/core/result.h"

namespace gpl::posix {

/// The Error of a failed call: "WHAT: the system's words", its Code chosen by `errno_value`.
Error io_error(std::string_view what, int errno_value = errno);

/// The system's words for `errno_value`, without a locale: "No such file or directory".
std::string errno_text(int errno_value);

}  // namespace gpl::posix
