#include "gpl/host/system_root.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>

#include "gpl/posix/fd.h"

namespace gpl::host {
namespace {

constexpr std::size_t max_names = 100000;

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

std::optional<std::string> resolved(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                         &std::free);
  return real ? std::optional<std::string>(real.get()) : std::nullopt;
}

mode_t type_of(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 ? status.st_mode & S_IFMT : 0;
}

}  // namespace

SystemRoot::SystemRoot(std::string prefix) : prefix_(std::move(prefix)) {
  if (prefix_.empty()) return;
  if (const std::optional<std::string> real = resolved(prefix_)) prefix_ = *real;
  if (prefix_ == "/") prefix_.clear();
}

bool SystemRoot::is_folder(const std::string& path) const {
  return type_of(on_disk(path)) == S_IFDIR;
}

bool SystemRoot::is_file(const std::string& path) const {
  return type_of(on_disk(path)) == S_IFREG;
}

bool SystemRoot::exists(const std::string& path) const { return type_of(on_disk(path)) != 0; }

bool SystemRoot::is_executable(const std::string& path) const {
  return is_file(path) && ::access(on_disk(path).c_str(), X_OK) == 0;
}

std::vector<std::string> SystemRoot::names(const std::string& path) const {
  std::vector<std::string> found;
  const std::unique_ptr<DIR, CloseFolder> folder(::opendir(on_disk(path).c_str()));
  if (!folder) return found;
  while (const dirent* entry = ::readdir(folder.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") found.push_back(name);
    if (found.size() >= max_names) break;
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::optional<std::string> SystemRoot::read(const std::string& path, std::size_t max_bytes) const {
  const posix::Fd fd(::open(on_disk(path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status;
  if (!fd.valid() || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return std::nullopt;
  }
  std::string bytes;
  char chunk[16384];
  while (bytes.size() < max_bytes) {
    const std::size_t room = std::min(sizeof chunk, max_bytes - bytes.size());
    const ssize_t got = ::read(fd.get(), chunk, room);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    bytes.append(chunk, static_cast<std::size_t>(got));
  }
  return bytes;
}

std::optional<std::string> SystemRoot::real_path(const std::string& path) const {
  std::optional<std::string> real = resolved(on_disk(path));
  if (!real || prefix_.empty()) return real;
  if (*real == prefix_) return "/";
  if (!real->starts_with(prefix_ + "/")) return std::nullopt;
  return real->substr(prefix_.size());
}

}  // namespace gpl::host
