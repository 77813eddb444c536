#include "gpl/artifact/folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "gpl/posix/error.h"

namespace gpl::artifact {
namespace {

Error failure(int error) {
  if (error == ENOENT || error == ENOTDIR || error == ELOOP)
    return {Code::not_found, "there is no such folder"};
  if (error == EACCES || error == EPERM) return {Code::denied, posix::errno_text(error)};
  if (error == EMFILE || error == ENFILE)
    return {Code::io, "too many open files: the folders are nested deeper than ulimit -n allows"};
  return {Code::io, posix::errno_text(error)};
}

}  // namespace

Result<Folder> Folder::open(int at, const char* name) {
  const int descriptor =
      openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return failure(errno);
  DIR* const stream = fdopendir(descriptor);
  if (stream == nullptr) {
    const int error = errno;
    close(descriptor);
    return failure(error);
  }
  Folder folder(stream);
  if (fstat(descriptor, &folder.status_) != 0) return failure(errno);
  return folder;
}

Folder::~Folder() {
  if (stream_ != nullptr) closedir(stream_);
}

Result<std::vector<Folder::Name>> Folder::names() {
  std::vector<Name> names;
  for (;;) {
    errno = 0;
    const dirent* const entry = readdir(stream_);
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.push_back({std::string(name), entry->d_type});
  }
  // A folder that was removed while it is read has no names.
  if (errno != 0 && errno != ENOENT) return failure(errno);
  return names;
}

std::optional<std::string> read_link(int at, const char* name) {
  std::string target(256, '\0');
  for (;;) {
    const ssize_t size = readlinkat(at, name, target.data(), target.size());
    if (size < 0) return std::nullopt;
    if (static_cast<std::size_t>(size) < target.size())
      return target.substr(0, static_cast<std::size_t>(size));
    target.resize(target.size() * 2);
  }
}

}  // namespace gpl::artifact
