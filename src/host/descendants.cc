#include "gpl/host/descendants.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "gpl/posix/file.h"

namespace gpl::host {
namespace {

// A process with a million children is not ours to hold in memory whole.
constexpr std::size_t max_proc_bytes = 16U << 20;

struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

struct ProcessStatus {
  char state = '?';
  pid_t parent = 0;
};

std::optional<pid_t> to_pid(std::string_view text) {
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
  if (error != std::errc() || end != text.data() + text.size() || pid <= 0) return std::nullopt;
  return pid;
}

std::vector<pid_t> pids_in_folder(const std::string& path) {
  std::vector<pid_t> pids;
  const std::unique_ptr<DIR, CloseDir> dir(::opendir(path.c_str()));
  if (dir == nullptr) return pids;
  while (const dirent* entry = ::readdir(dir.get())) {
    if (const std::optional<pid_t> pid = to_pid(entry->d_name)) pids.push_back(*pid);
  }
  return pids;
}

// proc(5), /proc/PID/stat: "PID (COMM) STATE PPID ..."; COMM may hold blanks and parentheses.
std::optional<ProcessStatus> status_of(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  Result<std::string> text = posix::read_file_at(AT_FDCWD, path, max_proc_bytes);
  if (!text.ok()) return std::nullopt;
  const std::size_t after = text.value().rfind(") ");
  if (after == std::string::npos || after + 4 >= text.value().size()) return std::nullopt;
  ProcessStatus status;
  status.state = text.value()[after + 2];
  const char* parent = text.value().data() + after + 4;
  std::from_chars(parent, text.value().data() + text.value().size(), status.parent);
  return status;
}

// The children of one thread of `pid`; nothing where the kernel has no such file.
std::optional<std::vector<pid_t>> children_of_thread(pid_t pid, pid_t thread) {
  const std::string path =
      "/proc/" + std::to_string(pid) + "/task/" + std::to_string(thread) + "/children";
  Result<std::string> text = posix::read_file_at(AT_FDCWD, path, max_proc_bytes);
  if (!text.ok()) return std::nullopt;
  std::vector<pid_t> children;
  std::string_view rest = text.value();
  while (!rest.empty()) {
    const std::size_t blank = std::min(rest.find(' '), rest.size());
    if (const std::optional<pid_t> child = to_pid(rest.substr(0, blank)))
      children.push_back(*child);
    rest.remove_prefix(std::min(blank + 1, rest.size()));
  }
  return children;
}

std::vector<pid_t> children_of(pid_t pid) {
  std::vector<pid_t> children;
  for (const pid_t thread : pids_in_folder("/proc/" + std::to_string(pid) + "/task")) {
    const std::optional<std::vector<pid_t>> some = children_of_thread(pid, thread);
    if (some) children.insert(children.end(), some->begin(), some->end());
  }
  return children;
}

// For kernels without the children files: who has which parent, of every process there is.
std::map<pid_t, std::vector<pid_t>> all_children() {
  std::map<pid_t, std::vector<pid_t>> children;
  for (const pid_t pid : pids_in_folder("/proc")) {
    if (const std::optional<ProcessStatus> status = status_of(pid)) {
      children[status->parent].push_back(pid);
    }
  }
  return children;
}

// A process whose first thread has ended while others run also says Z, and is alive.
bool has_ended(pid_t pid) {
  const std::optional<ProcessStatus> status = status_of(pid);
  if (!status || status->state == 'X') return true;
  return status->state == 'Z' &&
         pids_in_folder("/proc/" + std::to_string(pid) + "/task").size() < 2;
}

}  // namespace

std::vector<pid_t> descendants(bool outside_session) {
  const pid_t self = ::getpid();
  const pid_t session = ::getsid(0);
  const bool has_children_files = children_of_thread(self, self).has_value();
  std::map<pid_t, std::vector<pid_t>> table;
  if (!has_children_files) table = all_children();

  std::vector<pid_t> found;
  std::set<pid_t> seen;  // a process shows twice when it was handed to another parent meanwhile
  std::vector<pid_t> pending = {self};
  while (!pending.empty()) {
    const pid_t parent = pending.back();
    pending.pop_back();
    const std::vector<pid_t> children = has_children_files ? children_of(parent) : table[parent];
    for (const pid_t child : children) {
      if (outside_session && ::getsid(child) == session) continue;
      if (!seen.insert(child).second || has_ended(child)) continue;
      found.push_back(child);
      pending.push_back(child);
    }
  }
  return found;
}

bool can_see_processes() { return ::access("/proc/self/stat", R_OK) == 0; }

void signal_all(const std::vector<pid_t>& pids, int signal_number) {
  std::set<pid_t> groups;
  for (const pid_t pid : pids) {
    const pid_t group = ::getpgid(pid);
    if (group > 1 && group != ::getpgrp()) groups.insert(group);
  }
  for (const pid_t group : groups) ::kill(-group, signal_number);
  // Nobody gets it twice, except who has left its group between the two steps.
  for (const pid_t pid : pids) {
    if (!groups.contains(::getpgid(pid))) ::kill(pid, signal_number);
  }
}

}  // namespace gpl::host
