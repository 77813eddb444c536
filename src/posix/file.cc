#include "gpl/posix/file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "gpl/posix/error.h"

namespace gpl::posix {
namespace {

// True when the folder is there afterwards; else errno says why not.
bool make_folder(const std::string& path, mode_t mode) {
  if (::mkdir(path.c_str(), mode) == 0) return true;
  struct stat status;
  if (errno != EEXIST) return false;
  if (::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) return true;
  errno = ENOTDIR;
  return false;
}

}  // namespace

Result<std::string> read_file_at(int at, const std::string& path, std::size_t max_bytes) {
  Fd fd(::openat(at, path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return io_error("cannot open " + path);
  std::string bytes;
  char chunk[16384];
  for (;;) {
    const ssize_t got = ::read(fd.get(), chunk, sizeof chunk);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_error("cannot read " + path);
    if (got == 0) return bytes;
    if (bytes.size() + static_cast<std::size_t>(got) > max_bytes) {
      return Error{Code::too_large, path + " is larger than " + std::to_string(max_bytes) +
                                        " bytes, which is more than it can need"};
    }
    bytes.append(chunk, static_cast<std::size_t>(got));
  }
}

Status write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return io_error("cannot write");
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return success();
}

Status replace_file_at(int at, const std::string& name, std::string_view bytes,
                       Durability durability) {
  const std::string part = name + ".part";
  Fd fd(::openat(at, part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid()) return io_error("cannot create " + part);
  Status written = write_all(fd.get(), bytes);
  const bool synced = durability == Durability::none || ::fdatasync(fd.get()) == 0;
  if (!written.ok() || !synced) {
    Error error = written.ok() ? io_error("cannot sync " + name) : std::move(written).error();
    ::unlinkat(at, part.c_str(), 0);
    return Error{error.code, name + ": " + error.message};
  }
  if (::renameat(at, part.c_str(), at, name.c_str()) != 0)
    return io_error("cannot replace " + name);
  if (durability == Durability::synced && ::fsync(at) != 0) {
    return io_error("cannot sync the folder of " + name);
  }
  return success();
}

Status make_folders(const std::string& path, mode_t mode) {
  if (make_folder(path, mode)) return success();
  const std::size_t slash = path.find_last_of('/');
  if (errno != ENOENT || slash == std::string::npos || slash == 0) {
    return io_error("cannot make the folder " + path);
  }
  if (Status above = make_folders(path.substr(0, slash), mode); !above.ok()) return above;
  if (make_folder(path, mode)) return success();
  return io_error("cannot make the folder " + path);
}

Result<Fd> open_folder(const std::string& path) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return io_error("cannot open the folder " + path);
  return fd;
}

}  // namespace gpl::posix
