#include "gpl/host/temp_folder.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "gpl/posix/error.h"
#include "gpl/posix/tree.h"

namespace gpl::host {
namespace {

constexpr std::string_view prefix = "gpl-";

std::string base_folder() {
  const char* base = std::getenv("TMPDIR");
  return base != nullptr && *base == '/' ? base : "/tmp";
}

}  // namespace

std::string TempFolder::plan() {
  std::array<unsigned char, 6> random{};
  (void)::getrandom(random.data(), random.size(), 0);
  std::string path = base_folder();
  path.append("/").append(prefix);
  constexpr std::string_view digits = "0123456789abcdef";
  for (const unsigned char byte : random) path.append({digits[byte >> 4U], digits[byte & 15U]});
  return path;
}

Result<TempFolder> TempFolder::make_at(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0) return TempFolder(path);
  if (errno == EEXIST) return Error{Code::busy, path + " is there already"};
  return posix::io_error("cannot make the job's temporary folder " + path +
                         " (TMPDIR can name another place)");
}

Result<TempFolder> TempFolder::make() {
  std::string path = base_folder();
  path.append("/").append(prefix).append("XXXXXX");
  std::string made = path;
  if (::mkdtemp(made.data()) != nullptr) return TempFolder(std::move(made));
  return posix::io_error("cannot make the job's temporary folder " + path +
                         " (TMPDIR can name another place)");
}

Status TempFolder::remove(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos || !path.substr(slash + 1).starts_with(prefix)) return success();
  struct stat status;
  if (::lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) ||
      status.st_uid != ::geteuid()) {
    return success();
  }
  return posix::remove_tree_at(AT_FDCWD, path);
}

}  // namespace gpl::host
