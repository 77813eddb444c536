#include "gpl/artifact/file_text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "gpl/posix/error.h"

namespace gpl::artifact {
namespace {

std::variant<std::string, NoText> read_open_file(int file, std::size_t limit_bytes) {
  struct stat status {};
  if (fstat(file, &status) != 0) return NoText{NoText::Why::failed, errno};
  if (!S_ISREG(status.st_mode)) return NoText{NoText::Why::no_file};
  if (static_cast<std::size_t>(status.st_size) > limit_bytes) return NoText{NoText::Why::too_large};
  // The file may grow or shrink while it is read: its end counts, not its size.
  std::string text(static_cast<std::size_t>(status.st_size) + 1, '\0');
  std::size_t have = 0;
  for (;;) {
    const ssize_t got = read(file, text.data() + have, text.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return NoText{NoText::Why::failed, errno};
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
    if (have > limit_bytes) return NoText{NoText::Why::too_large};
    if (have == text.size()) text.resize(text.size() * 2);
  }
  text.resize(have);
  return text;
}

}  // namespace

std::variant<std::string, NoText> read_file_text(int folder, const char* path,
                                                 std::size_t limit_bytes, bool follow) {
  // O_NONBLOCK: the open of a FIFO without a writer would wait for ever.
  const int file = openat(folder, path,
                          O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (follow ? 0 : O_NOFOLLOW));
  if (file < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return NoText{NoText::Why::missing};
    if (errno == ELOOP && !follow) return NoText{NoText::Why::link};
    if (errno == ENXIO) return NoText{NoText::Why::no_file};
    return NoText{NoText::Why::failed, errno};
  }
  auto text = read_open_file(file, limit_bytes);
  close(file);
  return text;
}

std::string describe(const NoText& none) {
  switch (none.why) {
    case NoText::Why::missing:
      return "is not there";
    case NoText::Why::link:
      return "is a symbolic link";
    case NoText::Why::no_file:
      return "is no regular file";
    case NoText::Why::too_large:
      return "is too large";
    case NoText::Why::failed:
      return "cannot be read: " + posix::errno_text(none.error);
  }
  return {};
}

}  // namespace gpl::artifact
