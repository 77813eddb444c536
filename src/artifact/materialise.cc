#include "gpl/artifact/materialise.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "gpl/artifact/file_copy.h"
#include "gpl/posix/clock.h"
#include "gpl/posix/error.h"
#include "gpl/posix/fd.h"
#include "gpl/posix/file.h"
#include "source_file.h"

namespace gpl::artifact {
namespace {

class Materialisation {
 public:
  Materialisation(posix::Fd root, posix::Fd destination, const std::function<bool()>& interrupted)
      : root_(std::move(root)),
        destination_(std::move(destination)),
        interrupted_(interrupted),
        copy_(interrupted) {}

  Status add(const Entry& entry) {
    if (interrupted_ && interrupted_()) return Error{Code::busy, "interrupted"};
    switch (entry.type) {
      case EntryType::directory:
        return add_directory(entry);
      case EntryType::symlink:
        return add_symlink(entry);
      case EntryType::file:
        return add_file(entry);
    }
    return success();
  }

  // Last, deepest first: a folder may be read-only, and its time changes with what is put in.
  Status finish_directory(const Entry& entry) {
    const timespec times[] = {{0, UTIME_OMIT}, posix::to_timespec(entry.mtime_ns)};
    if (::utimensat(destination_.get(), entry.path.c_str(), times, AT_SYMLINK_NOFOLLOW) != 0 ||
        ::fchmodat(destination_.get(), entry.path.c_str(), entry.mode, 0) != 0) {
      return cannot_make(entry);
    }
    return success();
  }

  Materialised take() { return std::move(made_); }

 private:
  Status cannot_make(const Entry& entry) const {
    return posix::io_error("cannot make the private copy of " + entry.path);
  }

  Status add_directory(const Entry& entry) {
    if (::mkdirat(destination_.get(), entry.path.c_str(), 0700) != 0) return cannot_make(entry);
    made_.entries.push_back(entry);
    return success();
  }

  Status add_symlink(const Entry& entry) {
    if (::symlinkat(entry.link_target.c_str(), destination_.get(), entry.path.c_str()) != 0) {
      return cannot_make(entry);
    }
    made_.entries.push_back(entry);
    return success();
  }

  Status add_file(const Entry& entry) {
    Result<std::optional<SourceFile>> opened = open_source(root_.get(), entry, made_.notes);
    if (!opened.ok())
      return Error{opened.error().code,
                   "cannot make the private copy of " + entry.path + ": " + opened.error().message};
    if (!opened.value()) return success();
    const SourceFile& source = *opened.value();
    const struct stat& before = source.before;
    const posix::Fd to(::openat(destination_.get(), entry.path.c_str(),
                                O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!to.valid()) return cannot_make(entry);
    if (Status copied = copy_.copy(source.file.get(), to.get(), before.st_size); !copied.ok()) {
      return Error{copied.error().code,
                   "cannot make the private copy of " + entry.path + ": " + copied.error().message};
    }
    watch_.note_if_changed(entry, source, made_.notes);
    const timespec times[] = {{0, UTIME_OMIT}, before.st_mtim};
    struct stat copy;
    if (::fchmod(to.get(), before.st_mode & 0777U) != 0 || ::futimens(to.get(), times) != 0 ||
        ::fstat(to.get(), &copy) != 0) {
      return cannot_make(entry);
    }
    made_.entries.push_back(entry);
    Entry& made = made_.entries.back();
    made.mode = copy.st_mode & 0777U;
    made.size_bytes = static_cast<std::uint64_t>(copy.st_size);
    made.mtime_ns = posix::to_ns(copy.st_mtim);
    return success();
  }

  posix::Fd root_;
  posix::Fd destination_;
  const std::function<bool()>& interrupted_;
  FileCopy copy_;
  ChangeWatch watch_;
  Materialised made_;
};

}  // namespace

Result<Materialised> materialise(const std::string& root, const std::vector<Entry>& entries,
                                 const std::string& destination,
                                 const std::function<bool()>& interrupted) {
  Result<posix::Fd> from = posix::open_folder(root);
  if (!from.ok()) return std::move(from).error();
  Result<posix::Fd> to = posix::open_folder(destination);
  if (!to.ok()) return std::move(to).error();
  Materialisation copy(std::move(from).value(), std::move(to).value(), interrupted);
  for (const Entry& entry : entries) {
    if (Status added = copy.add(entry); !added.ok()) return std::move(added).error();
  }
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    if (entry->type != EntryType::directory) continue;
    if (Status finished = copy.finish_directory(*entry); !finished.ok()) {
      return std::move(finished).error();
    }
  }
  return copy.take();
}

}  // namespace gpl::artifact
