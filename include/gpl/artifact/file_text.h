#pragma once

#include <cstddef>
#include <string>
#include <variant>

namespace gpl::artifact {

/// Why the text of a file could not be had.
struct NoText {
  enum class Why { missing, link, no_file, too_large, failed };
  Why why;
  int error = 0;  ///< errno, for `failed`
};

/// The whole text of a regular file of at most `limit_bytes`. Nothing but a regular file is ever
/// waited for or read. `folder` is a descriptor or AT_FDCWD. A symbolic link in last place is
/// followed only with `follow`.
std::variant<std::string, NoText> read_file_text(int folder, const char* path,
                                                 std::size_t limit_bytes, bool follow);

/// `why` for a person: "is a symbolic link".
std::string describe(const NoText& none);

}  // namespace gpl::artifact
