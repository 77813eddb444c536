#include "gpl/store/folder_disk.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <variant>

#include "gpl/posix/error.h"
#include "gpl/posix/file.h"
#include "gpl/posix/listing.h"

namespace gpl::store {
namespace {

constexpr const char* lock_name = "lock";
constexpr std::uint64_t zeros_step_bytes = std::uint64_t{1024} * 1024;
constexpr int every_open = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;

bool write_at(int fd, std::string_view bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(put));
    offset += static_cast<std::uint64_t>(put);
  }
  return true;
}

bool write_zeros(int fd, std::uint64_t size_bytes) {
  const std::string zeros(std::min<std::uint64_t>(size_bytes, zeros_step_bytes), '\0');
  for (std::uint64_t at = 0; at < size_bytes;) {
    const std::uint64_t step = std::min<std::uint64_t>(zeros.size(), size_bytes - at);
    if (!write_at(fd, std::string_view(zeros).substr(0, step), at)) return false;
    at += step;
  }
  return true;
}

// An interruption is no failure: nothing has been tried and given up.
template <class Call>
bool uninterrupted(Call call) {
  while (call() != 0) {
    if (errno != EINTR) return false;
  }
  return true;
}

std::string kind_of(mode_t mode) {
  if (S_ISLNK(mode)) return "a link";
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

bool sync_file(int fd) {
  return uninterrupted([fd] { return ::fsync(fd); });
}

Error in_use(const std::string& path) {
  return Error{Code::busy,
               "the log in " + path +
                   " is in use: another gpl process has this folder open; stop that one, "
                   "or give this one a state folder of its own"};
}

}  // namespace

Result<std::unique_ptr<FolderDisk>> FolderDisk::open(const std::string& path) {
  if (Status made = posix::make_folders(path, 0700); !made) return std::move(made).error();
  Result<std::unique_ptr<FolderDisk>> opened = open_to_read(path);
  if (!opened) return opened;
  FolderDisk& disk = *opened.value();
  disk.lock_.reset(::openat(disk.folder_.get(), lock_name, O_RDWR | O_CREAT | every_open, 0600));
  if (!disk.lock_.valid()) return disk.failure("open", lock_name);
  if (!uninterrupted([&] { return ::flock(disk.lock_.get(), LOCK_EX | LOCK_NB); })) {
    return errno == EWOULDBLOCK ? in_use(path) : disk.failure("lock", lock_name);
  }
  // A process that was killed may have renamed and not synced; the folder itself may be new.
  if (Status synced = disk.sync_folder(); !synced) return std::move(synced).error();
  posix::Fd above(::openat(disk.folder_.get(), "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!above.valid() || !sync_file(above.get())) return disk.failure("sync the folder above", "");
  return opened;
}

Result<std::unique_ptr<FolderDisk>> FolderDisk::open_to_read(const std::string& path) {
  Result<posix::Fd> folder = posix::open_folder(path);
  if (!folder) return std::move(folder).error();
  return std::unique_ptr<FolderDisk>(new FolderDisk(path, std::move(folder).value()));
}

Result<std::vector<std::string>> FolderDisk::list() {
  Result<std::vector<std::string>> names = posix::names_in(folder_.get());
  if (names) std::erase(names.value(), lock_name);
  return names;
}

Result<std::uint64_t> FolderDisk::size(std::string_view name) {
  struct stat status;
  if (::fstatat(folder_.get(), std::string(name).c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return posix::io_error("cannot look at " + std::string(name) + " in " + path_);
  }
  if (!S_ISREG(status.st_mode)) {
    return Error{Code::invalid, std::string(name) + " in " + path_ + " is " +
                                    kind_of(status.st_mode) +
                                    ", and of a log all are plain files: put the file itself "
                                    "there, from where it is or from a copy"};
  }
  return static_cast<std::uint64_t>(status.st_size);
}

Result<std::string> FolderDisk::read(std::string_view name, std::uint64_t offset,
                                     std::size_t limit_bytes) {
  const Result<std::uint64_t> size = this->size(name);
  if (!size) return size.error();
  posix::Fd fd(::openat(folder_.get(), std::string(name).c_str(), O_RDONLY | every_open));
  if (!fd.valid()) return posix::io_error("cannot open " + std::string(name) + " in " + path_);
  std::string bytes(
      std::min<std::uint64_t>(limit_bytes, size.value() - std::min(offset, size.value())), '\0');
  std::size_t got = 0;
  while (got < bytes.size()) {
    const ssize_t part =
        ::pread(fd.get(), bytes.data() + got, bytes.size() - got, static_cast<off_t>(offset + got));
    if (part < 0 && errno == EINTR) continue;
    if (part < 0) return failure("read", name);
    if (part == 0) break;
    got += static_cast<std::size_t>(part);
  }
  bytes.resize(got);
  return bytes;
}

Status FolderDisk::perform(const Operation& operation) {
  if (!lock_.valid()) return Error{Code::denied, path_ + " was opened for reading only"};
  struct Performer {
    FolderDisk& disk;
    Status operator()(const Create& what) { return disk.create(what); }
    Status operator()(const Write& what) { return disk.write(what); }
    Status operator()(const Sync& what) { return disk.sync(what); }
    Status operator()(const Rename& what) { return disk.rename(what); }
    Status operator()(const Remove& what) { return disk.remove(what); }
  };
  return std::visit(Performer{*this}, operation);
}

Status FolderDisk::create(const Create& what) {
  const Result<int> fd = hold(what.name, O_CREAT | O_TRUNC);
  if (!fd) return fd.error();
  if (!write_zeros(fd.value(), what.size_bytes) || !sync_file(fd.value())) {
    const Error error = failure("make", what.name);
    // Half of it would only take space that is short.
    static_cast<void>(remove({what.name}));
    return error;
  }
  release_synced(what.name);
  return sync_folder();
}

Status FolderDisk::write(const Write& what) {
  const Result<int> fd = hold(what.name, O_CREAT);
  if (!fd) return fd.error();
  if (!write_at(fd.value(), what.bytes, what.offset)) return failure("write", what.name);
  return success();
}

Status FolderDisk::sync(const Sync& what) {
  const Result<int> fd = hold(what.name, 0);
  if (!fd) return fd.error();
  if (!uninterrupted([&] { return ::fdatasync(fd.value()); })) return failure("sync", what.name);
  release_synced(what.name);
  return success();
}

Status FolderDisk::rename(const Rename& what) {
  if (::renameat(folder_.get(), what.from.c_str(), folder_.get(), what.to.c_str()) != 0) {
    return failure("rename", what.from);
  }
  {
    const std::lock_guard lock(mutex_);
    files_.erase(what.to);
    if (auto file = files_.extract(what.from)) {
      file.key() = what.to;
      files_.insert(std::move(file));
    }
  }
  return sync_folder();
}

Status FolderDisk::remove(const Remove& what) {
  if (::unlinkat(folder_.get(), what.name.c_str(), 0) != 0 && errno != ENOENT) {
    return failure("remove", what.name);
  }
  {
    const std::lock_guard lock(mutex_);
    files_.erase(what.name);
  }
  return sync_folder();
}

Status FolderDisk::sync_folder() {
  if (!sync_file(folder_.get())) return failure("sync the folder", "");
  return success();
}

Result<int> FolderDisk::hold(const std::string& name, int flags) {
  const std::lock_guard lock(mutex_);
  const auto found = files_.find(name);
  if (found != files_.end() && (flags & O_TRUNC) == 0) {
    found->second.unsynced = true;
    return found->second.fd.get();
  }
  posix::Fd fd(::openat(folder_.get(), name.c_str(), O_RDWR | every_open | flags, 0600));
  if (!fd.valid()) return failure("open", name);
  const int number = fd.get();
  files_[name] = OpenFile{std::move(fd), true};
  return number;
}

void FolderDisk::release_synced(const std::string& name) {
  const std::lock_guard lock(mutex_);
  files_.at(name).unsynced = false;
  std::erase_if(files_,
                [&](const auto& file) { return !file.second.unsynced && file.first != name; });
}

Error FolderDisk::failure(std::string_view what, std::string_view name) const {
  const int errno_value = errno;
  std::string text = "cannot " + std::string(what) + " ";
  if (!name.empty()) text += std::string(name) + " in ";
  return Error{Code::io, text + path_ + ": " + posix::errno_text(errno_value)};
}

}  // namespace gpl::store
