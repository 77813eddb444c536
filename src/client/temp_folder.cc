#include "gpl/client/temp_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "gpl/posix/error.h"
#include "gpl/posix/tree.h"

namespace gpl::client {
namespace {

constexpr std::string_view prefix = "gpl-";

}  // namespace

Result<TempFolder> TempFolder::make() {
  const char* base = std::getenv("TMPDIR");
  std::string path = base != nullptr && *base == '/' ? base : "/tmp";
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

}  // namespace gpl::client
