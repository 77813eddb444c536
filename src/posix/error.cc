#include "gpl/posix/error.h"

#include <cstring>

namespace gpl::posix {
namespace {

Code code_of(int errno_value) {
  switch (errno_value) {
    case ENOENT:
    case ENOTDIR:
      return Code::not_found;
    case EACCES:
    case EPERM:
    case EROFS:
      return Code::denied;
    case EAGAIN:
    case EBUSY:
      return Code::busy;
    default:
      return Code::io;
  }
}

}  // namespace

std::string errno_text(int errno_value) {
  const char* text = ::strerrordesc_np(errno_value);
  return text != nullptr ? text : "error " + std::to_string(errno_value);
}

Error io_error(std::string_view what, int errno_value) {
  return Error{code_of(errno_value), std::string(what) + ": " + errno_text(errno_value)};
}

}  // namespace gpl::posix
