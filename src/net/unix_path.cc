#include "unix_path.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "gpl/net/credentials.h"
#include "gpl/posix/error.h"
#include "socket_address.h"

namespace gpl::net {
namespace {

Error in_use(const std::string& path, const std::string& by) {
  return Error{Code::busy, "'" + path + "' is served by " + by + ": stop that first"};
}

/// Fine when nobody serves what is at `address`: there is no file, or one of a dead process.
Status check_dead(const SocketAddress& address, const std::string& path) {
  const posix::Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe.valid()) return posix::io_error("cannot make a socket");
  if (::connect(probe.get(), address.get(), address.size) == 0) {
    const auto owner = peer_credentials(probe.get());
    return in_use(path, owner.ok() ? "process " + std::to_string(owner.value().pid)
                                   : std::string("another process"));
  }
  if (errno == ENOENT || errno == ECONNREFUSED) return success();
  if (errno == EAGAIN) return in_use(path, "a process that takes no connections");
  return posix::io_error("cannot ask who serves '" + path + "'");
}

Result<posix::Fd> take_lock(const SocketAddress& address, const std::string& path) {
  const std::string name = path + ".lock";
  posix::Fd lock(::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock.valid()) return posix::io_error("cannot open '" + name + "'");
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  // Some network file systems have no locks: there the question who serves it has to do.
  if (errno != EWOULDBLOCK) return posix::Fd();
  if (Status dead = check_dead(address, path); !dead.ok()) return dead.error();
  return in_use(path, "a process that is starting or stopping (it holds '" + name + "')");
}

/// Fine when the path is free now.
Status remove_dead(const SocketAddress& address, const std::string& path) {
  struct stat file;
  if (::lstat(path.c_str(), &file) != 0) {
    if (errno == ENOENT) return success();
    return posix::io_error("cannot look at '" + path + "'");
  }
  if (!S_ISSOCK(file.st_mode)) {
    return Error{Code::invalid, "'" + path + "' is not a socket: move it away"};
  }
  if (Status dead = check_dead(address, path); !dead.ok()) return dead;
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return success();
  return posix::io_error("cannot replace '" + path + "', which a dead process left");
}

}  // namespace

Result<UnixPath> UnixPath::bind(int socket, const std::string& path, mode_t mode) {
  const auto address = unix_address(path);
  if (!address.ok()) return address.error();
  auto lock = take_lock(address.value(), path);
  if (!lock.ok()) return lock.error();
  if (Status free = remove_dead(address.value(), path); !free.ok()) return free.error();
  // Linux gives the file the socket's mode, less the umask: so nobody else gets in before chmod.
  const SocketAddress& name = address.value();
  if (::fchmod(socket, mode) != 0 || ::bind(socket, name.get(), name.size) != 0) {
    return posix::io_error("cannot make the socket '" + path + "'");
  }
  UnixPath made(std::move(lock).value(), path);
  struct stat file = {};
  const bool seen = ::lstat(path.c_str(), &file) == 0;
  made.device_ = file.st_dev;
  made.inode_ = file.st_ino;
  if (!seen || ::chmod(path.c_str(), mode) != 0) {
    return posix::io_error("cannot make the socket '" + path + "'");
  }
  return made;
}

UnixPath::UnixPath(UnixPath&& other) noexcept
    : lock_(std::move(other.lock_)),
      path_(std::exchange(other.path_, {})),
      device_(other.device_),
      inode_(other.inode_) {}

UnixPath::~UnixPath() {
  struct stat file;
  if (path_.empty() || ::lstat(path_.c_str(), &file) != 0) return;
  if (file.st_dev == device_ && file.st_ino == inode_) ::unlink(path_.c_str());
}

}  // namespace gpl::net
