#pragma once

#include <sys/types.h>

#include <string>
#include <utility>

#include "gpl/core/result.h"
#include "gpl/posix/fd.h"

namespace gpl::net {

/// A Unix socket's file: made for a listener, and removed with it. Whoever makes one first takes a
/// lock that it keeps, so that two that start together do not each take the other for dead.
class UnixPath {
 public:
  /// Binds `socket` to `path`. Errors as Listener::listen_unix.
  static Result<UnixPath> bind(int socket, const std::string& path, mode_t mode);
  UnixPath(UnixPath&& other) noexcept;
  UnixPath& operator=(UnixPath&&) = delete;
  ~UnixPath();

 private:
  UnixPath(posix::Fd lock, std::string path) : lock_(std::move(lock)), path_(std::move(path)) {}

  posix::Fd lock_;
  std::string path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;  ///< ours: by the time it is removed another may be there
};

}  // namespace gpl::net
