#pragma once

#include <dirent.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// Polls `condition` until it is true; false when it still is not after `limit`.
template <class Condition>
bool eventually(Condition condition, std::chrono::seconds limit = std::chrono::seconds(20)) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    (void)::poll(nullptr, 0, 2);
  }
  return true;
}

/// A variable that no other process has in its environment, and that a process hands on to all that
/// it starts.
inline std::string unique_mark() {
  static std::atomic<int> count{0};
  return "GPL_TEST_MARK=" + std::to_string(::getpid()) + "." + std::to_string(++count) + ";";
}

inline std::string proc_file(pid_t pid, const std::string& name) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Field `index` of /proc/PID/stat, counted from STATE = 0 (then PPID, PGRP, SESSION); "" when
/// there is no such process.
inline std::string stat_field(pid_t pid, int index) {
  const std::string text = proc_file(pid, "stat");
  std::size_t at = text.rfind(") ");
  if (at == std::string::npos) return "";
  for (at += 2; index > 0; --index) at = text.find(' ', at) + 1;
  return text.substr(at, text.find(' ', at) - at);
}

/// Exists and has not ended.
inline bool is_alive(pid_t pid) {
  const std::string state = stat_field(pid, 0);
  return !state.empty() && state != "Z" && state != "X";
}

inline pid_t parent_of(pid_t pid) {
  const std::string text = stat_field(pid, 1);
  pid_t parent = 0;
  std::from_chars(text.data(), text.data() + text.size(), parent);
  return parent;
}

/// The living processes that have `mark` in their environment.
inline std::vector<pid_t> processes_with(const std::string& mark) {
  std::vector<pid_t> found;
  DIR* proc = ::opendir("/proc");
  while (const dirent* entry = proc != nullptr ? ::readdir(proc) : nullptr) {
    const std::string_view name = entry->d_name;
    pid_t pid = 0;
    std::from_chars(name.data(), name.data() + name.size(), pid);
    if (pid <= 0 || pid == ::getpid()) continue;
    if (proc_file(pid, "environ").find(mark) != std::string::npos) found.push_back(pid);
  }
  if (proc != nullptr) ::closedir(proc);
  return found;
}

/// The children of the calling thread, zombies too.
inline std::vector<pid_t> children_of_this() {
  std::ifstream file("/proc/thread-self/children");
  std::vector<pid_t> children;
  for (pid_t pid = 0; file >> pid;) children.push_back(pid);
  return children;
}
