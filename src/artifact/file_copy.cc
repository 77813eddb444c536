#include "gpl/artifact/file_copy.h"

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "gpl/posix/error.h"

namespace gpl::artifact {
namespace {

constexpr std::int64_t small_bytes = 64 << 10;  // one read and one write beat anything clever
constexpr std::int64_t step_bytes = 16 << 20;

Error interruption() { return Error{Code::busy, "interrupted"}; }

Error cannot_copy() { return posix::io_error("cannot copy its content"); }

}  // namespace

Status FileCopy::copy(int from, int to, std::int64_t size_bytes) {
  if (size_bytes <= small_bytes) return read_write(from, to, 0, size_bytes);
  if (reflinks_) {
    if (::ioctl(to, FICLONE, from) == 0) {
      // The clone is of the file as it is now: what has grown since is not asked for.
      return ::ftruncate(to, std::min<std::int64_t>(size_bytes, ::lseek(to, 0, SEEK_END))) == 0
                 ? success()
                 : Status(cannot_copy());
    }
    reflinks_ = false;
  }
  struct stat status;
  if (::fstat(from, &status) == 0 && std::int64_t{status.st_blocks} * 512 < size_bytes) {
    return copy_sparse(from, to, size_bytes);
  }
  return copy_range(from, to, 0, size_bytes);
}

Status FileCopy::copy_range(int from, int to, std::int64_t begin, std::int64_t end) {
  while (copies_in_kernel_ && begin < end) {
    if (interrupted_ && interrupted_()) return interruption();
    off_t in = begin;
    off_t out = begin;
    const auto want = static_cast<std::size_t>(std::min(end - begin, step_bytes));
    const ssize_t moved = ::copy_file_range(from, &in, to, &out, want, 0);
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) {
      const bool cannot = errno == EXDEV || errno == EINVAL || errno == ENOSYS ||
                          errno == EOPNOTSUPP || errno == EPERM;
      if (!cannot) return cannot_copy();
      copies_in_kernel_ = false;
      break;
    }
    // Some special file systems move nothing this way although there is more to read.
    if (moved == 0) break;
    begin += moved;
  }
  return read_write(from, to, begin, end);
}

Status FileCopy::read_write(int from, int to, std::int64_t begin, std::int64_t end) {
  std::vector<char> buffer(
      static_cast<std::size_t>(std::clamp(end - begin, std::int64_t{1}, std::int64_t{1} << 20)));
  while (begin < end) {
    if (interrupted_ && interrupted_()) return interruption();
    const auto want = std::min(buffer.size(), static_cast<std::size_t>(end - begin));
    const ssize_t got = ::pread(from, buffer.data(), want, begin);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return cannot_copy();
    if (got == 0) return success();
    for (ssize_t done = 0; done < got;) {
      const ssize_t put =
          ::pwrite(to, buffer.data() + done, static_cast<std::size_t>(got - done), begin + done);
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return cannot_copy();
      done += put;
    }
    begin += got;
  }
  return success();
}

Status FileCopy::copy_sparse(int from, int to, std::int64_t size_bytes) {
  std::int64_t at = 0;
  while (at < size_bytes) {
    const off_t data = ::lseek(from, at, SEEK_DATA);
    if (data < 0 && errno == ENXIO) break;  // a hole up to the end
    if (data < 0) return copy_range(from, to, at, size_bytes);
    off_t hole = ::lseek(from, data, SEEK_HOLE);
    if (hole < 0 || hole > size_bytes) hole = size_bytes;
    if (data >= size_bytes) break;
    if (Status copied = copy_range(from, to, data, hole); !copied.ok()) return copied;
    at = hole;
  }
  // The source may have shrunk meanwhile: the copy ends where it does, not in invented zeros.
  struct stat status;
  if (::fstat(from, &status) != 0) return cannot_copy();
  const std::int64_t end = std::min<std::int64_t>(size_bytes, status.st_size);
  return ::ftruncate(to, end) == 0 ? success() : Status(cannot_copy());
}

}  // namespace gpl::artifact
