#include "gpl/host/guard_family.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <string>

#include "gpl/host/descendants.h"
#include "gpl/posix/file.h"

namespace gpl::host {
namespace {

constexpr std::size_t max_stat_bytes = 4096;

// proc(5), /proc/PID/stat: "PID (COMM) STATE PPID ..."; 0 for a process that is gone.
pid_t parent_of(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  Result<std::string> text = posix::read_file_at(AT_FDCWD, path, max_stat_bytes);
  if (!text.ok()) return 0;
  const std::size_t after = text.value().rfind(") ");
  if (after == std::string::npos || after + 4 >= text.value().size()) return 0;
  pid_t parent = 0;
  const char* digits = text.value().data() + after + 4;
  std::from_chars(digits, text.value().data() + text.value().size(), parent);
  return parent;
}

}  // namespace

GuardFamily::Child GuardFamily::add(pid_t pid) {
  known_[pid] = ++last_serial_;
  return {pid, last_serial_};
}

bool GuardFamily::has(const Child& child) const {
  const auto found = known_.find(child.pid);
  return found != known_.end() && found->second == child.serial;
}

bool GuardFamily::reap() {
  bool any = false;
  for (pid_t pid = 0; (pid = ::waitpid(-1, nullptr, WNOHANG)) > 0;) {
    known_.erase(pid);
    any = true;
  }
  return any;
}

std::vector<pid_t> GuardFamily::orphans() const {
  const pid_t self = ::getpid();
  std::vector<pid_t> found;
  for (const pid_t pid : descendants(true)) {
    pid_t above = pid;
    while (above > 0 && above != self && !known_.contains(above)) above = parent_of(above);
    // Where the way up breaks off somebody has just ended: the next look will tell.
    if (above == self) found.push_back(pid);
  }
  return found;
}

void GuardFamily::raise_open_files() {
  rlimit limit;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return;
  const rlimit raised{limit.rlim_max, limit.rlim_max};
  if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) open_files_before_ = limit;
}

void GuardFamily::restore_open_files() const {
  if (open_files_before_) ::setrlimit(RLIMIT_NOFILE, &*open_files_before_);
}

}  // namespace gpl::host
