#include "store_folders.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "gpl/posix/clock.h"
#include "gpl/posix/error.h"
#include "gpl/posix/file.h"

namespace gpl::artifact {
namespace {

constexpr std::string_view format = "gpl-store 1\n";

// Longer than a tick of a file system's clock: a change that comes later has a later time.
constexpr std::int64_t tick_ns = 100'000'000;

std::int64_t now_ns() { return posix::wall_clock().since_epoch_ms * 1'000'000; }

Result<posix::Fd> open_inner(int root, const std::string& store, const char* name) {
  constexpr int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  if (::mkdirat(root, name, 0700) != 0 && errno != EEXIST)
    return posix::io_error("cannot make the folder " + store + "/" + name);
  posix::Fd fd(::openat(root, name, flags));
  if (!fd.valid()) return posix::io_error("cannot open the folder " + store + "/" + name);
  return fd;
}

Status open_all(StoreFolders& folders) {
  const std::pair<const char*, posix::Fd*> inner[] = {{"objects", &folders.objects},
                                                      {"pins", &folders.pins},
                                                      {"intakes", &folders.intakes},
                                                      {"damaged", &folders.damaged}};
  for (const auto& [name, fd] : inner) {
    Result<posix::Fd> opened = open_inner(folders.root.get(), folders.path, name);
    if (!opened.ok()) return std::move(opened).error();
    *fd = std::move(opened).value();
  }
  return success();
}

// The format file comes last: where it is, the folders are, also after a power loss.
Status make_all(StoreFolders& folders) {
  constexpr auto synced = posix::Durability::synced;
  // Two may find out at once that there is no store yet.
  const Result<StoreLock> lock = StoreLock::exclusive(folders);
  if (!lock.ok()) return lock.error();
  if (Status opened = open_all(folders); !opened.ok()) return opened;
  if (Status put = posix::replace_file_at(folders.root.get(), "format", format, synced); !put.ok())
    return put;
  const posix::Fd above(::openat(folders.root.get(), "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!above.valid() || ::fsync(above.get()) != 0)
    return posix::io_error("cannot sync the folder of " + folders.path);
  return success();
}

}  // namespace

Result<std::unique_ptr<StoreFolders>> StoreFolders::open(const std::string& path) {
  if (Status made = posix::make_folders(path, 0700); !made.ok()) return std::move(made).error();
  Result<posix::Fd> root = posix::open_folder(path);
  if (!root.ok()) return std::move(root).error();
  auto folders = std::make_unique<StoreFolders>();
  folders->path = path;
  folders->root = std::move(root).value();
  Result<std::string> found = posix::read_file_at(folders->root.get(), "format", 4096);
  const bool is_new = !found.ok() && found.error().code == Code::not_found;
  if (!found.ok() && !is_new) return std::move(found).error();
  if (found.ok() && found.value() != format)
    return Error{Code::unsupported, "the store " + path +
                                        " is of another version of gpl: update this one, or move "
                                        "the folder away"};
  Status opened = is_new ? make_all(*folders) : open_all(*folders);
  if (!opened.ok()) return std::move(opened).error();
  return Result<std::unique_ptr<StoreFolders>>(std::move(folders));
}

Result<unsigned> StoreFolders::sync_names() {
  struct stat before;
  if (::fstat(objects.get(), &before) != 0) return store_error(*this, "cannot be looked at", errno);
  const std::int64_t ctime_ns = posix::to_ns(before.st_ctim);
  if (safe_ctime_ns_ == ctime_ns) return 0U;
  if (::fsync(objects.get()) != 0) return store_error(*this, "cannot be synced", errno);
  // Within the same tick another name may come, and the time would not tell.
  safe_ctime_ns_ = ctime_ns + tick_ns < now_ns() ? ctime_ns : 0;
  return 1U;
}

Error store_error(const StoreFolders& folders, std::string_view what, int errno_value) {
  Error error = posix::io_error("the store " + folders.path + " " + std::string(what), errno_value);
  if (errno_value == ENOSPC || errno_value == EDQUOT)
    error.message += "; free some space there and try again";
  return error;
}

Result<StoreLock> StoreLock::shared(const StoreFolders& folders) { return take(folders, LOCK_SH); }

Result<StoreLock> StoreLock::exclusive(const StoreFolders& folders) {
  return take(folders, LOCK_EX);
}

Result<StoreLock> StoreLock::take(const StoreFolders& folders, int operation) {
  posix::Fd fd(
      ::openat(folders.root.get(), "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd.valid()) return store_error(folders, "cannot be locked", errno);
  while (::flock(fd.get(), operation) != 0) {
    if (errno != EINTR) return store_error(folders, "cannot be locked", errno);
  }
  return StoreLock(std::move(fd));
}

}  // namespace gpl::artifact
