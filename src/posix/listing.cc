#include "gpl/posix/listing.h"

#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <memory>

#include "gpl/posix/error.h"
#include "gpl/posix/fd.h"

namespace gpl::posix {
namespace {

struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

}  // namespace

Result<std::vector<std::string>> names_in(int folder) {
  Fd listing(::fcntl(folder, F_DUPFD_CLOEXEC, 0));
  const std::unique_ptr<DIR, CloseDir> dir(listing.valid() ? ::fdopendir(listing.get()) : nullptr);
  if (dir == nullptr) return io_error("cannot list the folder");
  (void)listing.release();
  ::rewinddir(dir.get());
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(dir.get())) {
    std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace gpl::posix
