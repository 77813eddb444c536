#include "gpl/host/key_file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "gpl/core/ascii.h"
#include "gpl/posix/error.h"
#include "gpl/posix/fd.h"
#include "gpl/posix/file.h"

namespace gpl::host {
namespace {

constexpr const char* file_name = "cluster.key";
constexpr std::size_t most_bytes = 4096;
constexpr mode_t of_others = S_IRWXG | S_IRWXO;

/// A file beside the key's, that is gone when it was not renamed.
struct Part {
  posix::Fd folder;
  std::string name;

  Part(posix::Fd of, std::string called) : folder(std::move(of)), name(std::move(called)) {}
  Part(Part&&) = default;
  ~Part() {
    if (folder.valid()) ::unlinkat(folder.get(), name.c_str(), 0);
  }
};

/// The folder itself must survive a power loss, not only what is in it.
Result<posix::Fd> made_folder(const std::string& configuration) {
  if (Status made = posix::make_folders(configuration, 0700); !made.ok()) return made.error();
  const std::size_t slash = configuration.find_last_of('/');
  if (slash != std::string::npos && slash > 0) {
    const std::string above = configuration.substr(0, slash);
    const Result<posix::Fd> folder = posix::open_folder(above);
    if (!folder.ok()) return folder.error();
    if (::fsync(folder.value().get()) != 0) return posix::io_error("cannot sync " + above);
  }
  return posix::open_folder(configuration);
}

/// Written and synced under a name of its own: another process may be at the same.
Result<Part> written_part(const std::string& configuration, std::string_view line) {
  Result<posix::Fd> folder = made_folder(configuration);
  if (!folder.ok()) return std::move(folder).error();
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number)
    return posix::io_error("cannot draw a random number");
  Part part(std::move(folder).value(), std::string(file_name) + "." + std::to_string(number));
  const std::string what = "cannot write " + configuration + "/" + part.name;
  const posix::Fd fd(::openat(part.folder.get(), part.name.c_str(),
                              O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  // Whatever the umask and the folder's default access list say.
  if (!fd.valid() || ::fchmod(fd.get(), 0600) != 0) return posix::io_error(what);
  if (Status written = posix::write_all(fd.get(), std::string(line) + "\n"); !written.ok())
    return Error{written.error().code, what + ": " + written.error().message};
  if (::fsync(fd.get()) != 0) return posix::io_error(what);
  return part;
}

Status synced(const Part& part, const std::string& configuration) {
  if (::fsync(part.folder.get()) != 0) return posix::io_error("cannot sync " + configuration);
  return success();
}

/// The same file, whatever is renamed meanwhile, is looked at and read.
Result<std::string> checked_bytes(const posix::Fd& fd, const std::string& path) {
  struct stat status;
  if (::fstat(fd.get(), &status) != 0) return posix::io_error("cannot look at " + path);
  if (!S_ISREG(status.st_mode))
    return Error{Code::invalid, path + " is no file: the key of a cluster is to be there"};
  if ((status.st_mode & of_others) != 0)
    return Error{Code::denied, "others can read or write " + path +
                                   ", and who has it can run anything on the cluster: chmod 600 " +
                                   path + " (and have another key where they may have read it)"};
  if (status.st_uid != ::geteuid() && status.st_uid != 0)
    return Error{Code::denied, path +
                                   " is of another user, who knows the key that is in it: have "
                                   "another key, or chown it"};
  std::string bytes(most_bytes + 1, '\0');
  std::size_t held = 0;
  for (ssize_t got = 1; got != 0 && held < bytes.size();) {
    got = ::read(fd.get(), bytes.data() + held, bytes.size() - held);
    if (got < 0 && errno != EINTR) return posix::io_error("cannot read " + path);
    held += got > 0 ? static_cast<std::size_t>(got) : 0;
  }
  if (held > most_bytes) return Error{Code::invalid, path + " is larger than a key can be"};
  bytes.resize(held);
  return bytes;
}

}  // namespace

std::string key_file_path(const std::string& configuration) {
  return configuration + "/" + file_name;
}

Result<std::optional<std::string>> read_key_file(const std::string& configuration) {
  const std::string path = key_file_path(configuration);
  const posix::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.valid() && errno == ENOENT) return std::optional<std::string>();
  if (!fd.valid()) return posix::io_error("cannot open " + path);
  const Result<std::string> bytes = checked_bytes(fd, path);
  if (!bytes.ok()) return bytes.error();
  const std::string_view line = trimmed(bytes.value());
  if (line.find('\n') != std::string_view::npos)
    return Error{Code::invalid, path + " has more than one line: the key is the only one"};
  return std::optional<std::string>(line);
}

Status create_key_file(const std::string& configuration, std::string_view line) {
  const Result<Part> part = written_part(configuration, line);
  if (!part.ok()) return part.error();
  const int folder = part.value().folder.get();
  // A link is made or not, on NFS too; a rename would take the place of another's key.
  if (::linkat(folder, part.value().name.c_str(), folder, file_name, 0) != 0) {
    if (errno == EEXIST)
      return Error{Code::busy, key_file_path(configuration) + " is there already"};
    return posix::io_error("cannot make " + key_file_path(configuration));
  }
  return synced(part.value(), configuration);
}

Status replace_key_file(const std::string& configuration, std::string_view line) {
  const Result<Part> part = written_part(configuration, line);
  if (!part.ok()) return part.error();
  const int folder = part.value().folder.get();
  if (::renameat(folder, part.value().name.c_str(), folder, file_name) != 0)
    return posix::io_error("cannot replace " + key_file_path(configuration));
  return synced(part.value(), configuration);
}

}  // namespace gpl::host
