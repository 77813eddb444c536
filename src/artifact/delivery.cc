#include "gpl/artifact/delivery.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "gpl/artifact/file_copy.h"
#include "gpl/posix/error.h"
#include "gpl/posix/fd.h"
#include "gpl/posix/file.h"

namespace gpl::artifact {
namespace {

constexpr int folder_flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

// The kernel itself refuses to leave `root`, links included. -1 with ENOSYS before Linux 5.6.
int open_beneath(int root, const std::string& path) {
  open_how how = {};
  how.flags = static_cast<unsigned>(folder_flags);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how));
}

// The folder `root`/`prefix`, whose last name is `name` in the folder `at`.
int open_step(int root, const std::string& prefix, int at, const std::string& name) {
  const int fd = open_beneath(root, prefix);
  if (fd >= 0 || errno != ENOSYS) return fd;
  return ::openat(at, name.c_str(), folder_flags | O_NOFOLLOW);  // no link at all, to be safe
}

posix::Fd make_folder_path(int root, const std::string& path) {
  posix::Fd at(::openat(root, ".", folder_flags));
  for (std::size_t begin = 0; at.valid() && begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string name = path.substr(begin, end - begin);
    if (::mkdirat(at.get(), name.c_str(), 0777) != 0 && errno != EEXIST) return posix::Fd();
    at.reset(open_step(root, path.substr(0, end), at.get(), name));
    begin = end + 1;
  }
  return at;
}

posix::Fd open_parent(int root, const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return posix::Fd(::openat(root, ".", folder_flags));
  const std::string parent = path.substr(0, slash);
  posix::Fd fd(open_beneath(root, parent));
  if (fd.valid() || errno == EXDEV) return fd;
  return make_folder_path(root, parent);
}

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

class Delivery {
 public:
  Delivery(posix::Fd from, posix::Fd to, Handover handover)
      : from_(std::move(from)), to_(std::move(to)), handover_(handover), copy_(nullptr) {}

  Status put(const Entry& entry) {
    const posix::Fd parent = open_parent(to_.get(), entry.path);
    if (!parent.valid()) return refuse_parent();
    const std::string name = name_of(entry.path);
    if (handover_ == Handover::move) {
      if (::renameat(from_.get(), entry.path.c_str(), parent.get(), name.c_str()) == 0) {
        return success();
      }
      // Another file system, or a folder that the command made read-only.
      if (errno != EXDEV && errno != EACCES) return posix::io_error("cannot be written");
    }
    Status put = entry.type == EntryType::symlink ? put_link(entry, parent.get(), name)
                                                  : put_file(entry, parent.get(), name);
    if (put.ok() && handover_ == Handover::move) ::unlinkat(from_.get(), entry.path.c_str(), 0);
    return put;
  }

 private:
  static Status refuse_parent() {
    if (errno == EXDEV || errno == ELOOP) {
      return Error{Code::denied, "its folder here is a link that leads out of this folder"};
    }
    return posix::io_error("its folder cannot be made");
  }

  // A name beside the last one, so that a reader never sees half a file.
  static std::string part_name(const std::string& name) {
    return ".gpl-part-" + std::to_string(::getpid()) + "-" + name.substr(0, 200);
  }

  static Status take_place(int parent, const std::string& part, const std::string& name) {
    if (::renameat(parent, part.c_str(), parent, name.c_str()) == 0) return success();
    Error error = posix::io_error("cannot be written");
    ::unlinkat(parent, part.c_str(), 0);
    return error;
  }

  static Status put_link(const Entry& entry, int parent, const std::string& name) {
    const std::string part = part_name(name);
    if (::symlinkat(entry.link_target.c_str(), parent, part.c_str()) != 0) {
      return posix::io_error("cannot be written");
    }
    return take_place(parent, part, name);
  }

  Status put_file(const Entry& entry, int parent, const std::string& name) {
    const posix::Fd from(
        ::openat(from_.get(), entry.path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status;
    if (!from.valid() || ::fstat(from.get(), &status) != 0)
      return posix::io_error("cannot be read");
    const std::string part = part_name(name);
    const posix::Fd to(::openat(parent, part.c_str(),
                                O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!to.valid()) return posix::io_error("cannot be written");
    Status copied = copy_.copy(from.get(), to.get(), status.st_size);
    const timespec times[] = {{0, UTIME_OMIT}, status.st_mtim};
    if (copied.ok() &&
        (::fchmod(to.get(), status.st_mode & 0777U) != 0 || ::futimens(to.get(), times) != 0)) {
      copied = posix::io_error("cannot be written");
    }
    if (copied.ok()) return take_place(parent, part, name);
    ::unlinkat(parent, part.c_str(), 0);
    return copied;
  }

  posix::Fd from_;
  posix::Fd to_;
  Handover handover_;
  FileCopy copy_;
};

}  // namespace

Result<Delivered> deliver(const std::string& from, const std::vector<Entry>& entries,
                          const std::string& to, Handover handover) {
  Result<posix::Fd> source = posix::open_folder(from);
  if (!source.ok()) return std::move(source).error();
  Result<posix::Fd> target = posix::open_folder(to);
  if (!target.ok()) return std::move(target).error();
  Delivery delivery(std::move(source).value(), std::move(target).value(), handover);
  Delivered delivered;
  for (const Entry& entry : entries) {
    Status put = delivery.put(entry);
    if (put.ok()) {
      delivered.done.push_back(entry);
    } else {
      delivered.failed.push_back({entry, put.error().message});
    }
  }
  return delivered;
}

}  // namespace gpl::artifact
