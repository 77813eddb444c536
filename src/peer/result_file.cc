#include "result_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "gpl/artifact/folder.h"
#include "gpl/peer/staged_attempt.h"
#include "gpl/posix/error.h"
#include "gpl/posix/fd.h"

namespace gpl::peer {
namespace {

constexpr int folder_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

struct Place {
  posix::Fd folder;
  std::string name;
};

Error bad_path(const std::string& path) {
  return {Code::invalid, "'" + path + "' cannot be the path of a result"};
}

// The folder that `path` is in, reached name by name, and its last name.
Result<Place> find_place(const std::string& attempts_folder, const Fence& fence,
                         const std::string& path) {
  const Result<StagedAttempt> attempt = StagedAttempt::open(attempts_folder, fence);
  if (!attempt.ok()) return attempt.error();
  posix::Fd at(::openat(attempt.value().folder(), "files", folder_flags));
  for (std::size_t begin = 0;;) {
    if (!at.valid()) return posix::io_error("cannot open the result " + path);
    const std::size_t end = std::min(path.find('/', begin), path.size());
    std::string name = path.substr(begin, end - begin);
    if (name.empty() || name == "." || name == ".." || name.find('\0') != std::string::npos)
      return bad_path(path);
    if (end == path.size()) return Place{std::move(at), std::move(name)};
    at.reset(::openat(at.get(), name.c_str(), folder_flags));
    begin = end + 1;
  }
}

wire::FilePiece piece_of_target(const std::string& target, std::uint64_t offset,
                                std::uint32_t size_bytes) {
  wire::FilePiece piece;
  if (offset < target.size()) piece.data = target.substr(offset, size_bytes);
  piece.last = offset + piece.data.size() >= target.size();
  return piece;
}

// The command may have closed its own file to its user.
posix::Fd open_opening_up(const Place& place, const struct stat& status) {
  constexpr int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  posix::Fd file(::openat(place.folder.get(), place.name.c_str(), flags));
  const mode_t mode = status.st_mode & 0777U;
  if (file.valid() || errno != EACCES) return file;
  if (::fchmodat(place.folder.get(), place.name.c_str(), mode | 0400U, 0) != 0) return file;
  file.reset(::openat(place.folder.get(), place.name.c_str(), flags));
  ::fchmodat(place.folder.get(), place.name.c_str(), mode, 0);
  return file;
}

Result<std::string> read_at(int file, std::uint64_t offset, std::size_t size) {
  std::string bytes(size, '\0');
  std::size_t got = 0;
  while (got < size) {
    const ssize_t read =
        ::pread(file, bytes.data() + got, size - got, static_cast<off_t>(offset + got));
    if (read < 0 && errno == EINTR) continue;
    if (read < 0) return posix::io_error("cannot read a result");
    if (read == 0) break;
    got += static_cast<std::size_t>(read);
  }
  bytes.resize(got);
  return bytes;
}

}  // namespace

Result<wire::FilePiece> read_result(const std::string& attempts_folder, const Fence& fence,
                                    const std::string& path, std::uint64_t offset,
                                    std::uint32_t size_bytes) {
  const Result<Place> place = find_place(attempts_folder, fence, path);
  if (!place.ok()) return place.error();
  const int folder = place.value().folder.get();
  const char* name = place.value().name.c_str();
  struct stat status;
  if (::fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
    return posix::io_error("cannot look at the result " + path);
  if (S_ISLNK(status.st_mode)) {
    const auto target = artifact::read_link(folder, name);
    if (!target) return Error{Code::not_found, "the result " + path + " has gone"};
    return piece_of_target(*target, offset, size_bytes);
  }
  if (!S_ISREG(status.st_mode)) return bad_path(path);
  const posix::Fd file = open_opening_up(place.value(), status);
  if (!file.valid()) return posix::io_error("cannot open the result " + path);
  const auto size = static_cast<std::uint64_t>(status.st_size);
  const std::uint64_t left = offset < size ? size - offset : 0;
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(left, size_bytes));
  Result<std::string> data = read_at(file.get(), offset, wanted);
  if (!data.ok()) return Error{data.error().code, path + ": " + data.error().message};
  wire::FilePiece piece;
  piece.last = left <= size_bytes;
  piece.data = std::move(data).value();
  return piece;
}

Status remove_results(const std::string& attempts_folder, const Fence& fence,
                      const std::vector<std::string>& paths) {
  Status first_failure = success();
  for (const std::string& path : paths) {
    const Result<Place> place = find_place(attempts_folder, fence, path);
    Status removed = place.ok() ? success() : Status(place.error());
    if (place.ok() && ::unlinkat(place.value().folder.get(), place.value().name.c_str(), 0) != 0)
      removed = posix::io_error("cannot remove the result " + path);
    if (!removed.ok() && removed.error().code != Code::not_found && first_failure.ok())
      first_failure = std::move(removed);
    for (std::size_t end = path.rfind('/'); end != std::string::npos && end > 0;
         end = path.rfind('/', end - 1)) {
      const Result<Place> above = find_place(attempts_folder, fence, path.substr(0, end));
      if (!above.ok() ||
          ::unlinkat(above.value().folder.get(), above.value().name.c_str(), AT_REMOVEDIR) != 0)
        break;
    }
  }
  return first_failure;
}

}  // namespace gpl::peer
