#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "gpl/host/spool.h"
#include "gpl/posix/error.h"
#include "gpl/posix/listing.h"

namespace gpl::host {
namespace {

std::uint64_t to_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : 0;
}

// `operation` as of flock(2): with LOCK_NB a folder that another process has locked is busy.
Result<posix::Fd> open_locked(int at, const std::string& name, int operation) {
  posix::Fd fd(::openat(at, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid()) return posix::io_error("cannot open job " + name);
  while (::flock(fd.get(), operation) != 0) {
    if (errno == EWOULDBLOCK) return Error{Code::busy, "job " + name + " is still running"};
    if (errno != EINTR) return posix::io_error("cannot lock job " + name);
  }
  return fd;
}

}  // namespace

Result<SpoolFolder> SpoolFolder::open(const std::string& state_folder) {
  std::string path = state_folder + "/jobs";
  Result<posix::Fd> folder = posix::open_folder(path);
  if (!folder.ok() && folder.error().code == Code::not_found) {
    if (Status made = posix::make_folders(path, 0700); !made.ok()) {
      return Error{made.error().code,
                   made.error().message + " (XDG_STATE_HOME can name another place)"};
    }
    folder = posix::open_folder(path);
  }
  if (!folder.ok()) return std::move(folder).error();
  return SpoolFolder(std::move(path), std::move(folder).value());
}

// The last number given out is the content of a file, whose lock makes the step atomic.
Result<JobId> SpoolFolder::next_number() {
  posix::Fd file(::openat(folder_.get(), "last", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid()) return posix::io_error("cannot open " + path_ + "/last");
  while (::flock(file.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return posix::io_error("cannot lock " + path_ + "/last");
  }
  char text[24];
  const ssize_t got = ::pread(file.get(), text, sizeof text, 0);
  const std::uint64_t last = got > 0 ? to_number({text, static_cast<std::size_t>(got)}) : 0;
  const JobId next{last + 1 == 0 ? 1 : last + 1};
  const std::string bytes = std::to_string(next.value);
  const ssize_t put = ::pwrite(file.get(), bytes.data(), bytes.size(), 0);
  if (put != static_cast<ssize_t>(bytes.size())) {
    return posix::io_error("cannot write " + path_ + "/last", put < 0 ? errno : ENOSPC);
  }
  // What was there before can be longer only if it was damaged.
  if (::ftruncate(file.get(), put) != 0) return posix::io_error("cannot write " + path_ + "/last");
  return next;
}

Result<Spool> SpoolFolder::create() {
  for (;;) {
    Result<JobId> number = next_number();
    if (!number.ok()) return std::move(number).error();
    const std::string name = std::to_string(number.value().value);
    if (::mkdirat(folder_.get(), name.c_str(), 0700) != 0) {
      if (errno == EEXIST) continue;  // the counter's file was lost or damaged: go on above
      return posix::io_error("cannot make the folder " + path_ + "/" + name);
    }
    // Whoever looks through all spools may hold this one for a moment.
    Result<posix::Fd> folder = open_locked(folder_.get(), name, LOCK_EX);
    if (!folder.ok()) return std::move(folder).error();
    if (::mkdirat(folder.value().get(), "work", 0700) != 0) {
      return posix::io_error("cannot make the folder " + path_ + "/" + name + "/work");
    }
    return Spool(folder_.get(), path_ + "/" + name, std::move(folder).value(), number.value());
  }
}

Result<Spool> SpoolFolder::open_existing(JobId job) const {
  const std::string name = std::to_string(job.value);
  Result<posix::Fd> folder = open_locked(folder_.get(), name, LOCK_EX | LOCK_NB);
  if (!folder.ok()) return std::move(folder).error();
  return Spool(folder_.get(), path_ + "/" + name, std::move(folder).value(), job);
}

Result<std::vector<JobId>> SpoolFolder::list() const {
  Result<std::vector<std::string>> names = posix::names_in(folder_.get());
  if (!names.ok()) return Error{names.error().code, path_ + ": " + names.error().message};
  std::vector<JobId> jobs;
  for (const std::string& name : names.value()) {
    if (const std::uint64_t number = to_number(name)) jobs.push_back(JobId{number});
  }
  std::sort(jobs.begin(), jobs.end());
  return jobs;
}

}  // namespace gpl::host
