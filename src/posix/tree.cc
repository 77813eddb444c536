#include "gpl/posix/tree.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <vector>

#include "gpl/posix/error.h"
#include "gpl/posix/fd.h"
#include "gpl/posix/listing.h"

namespace gpl::posix {
namespace {

// Below this many levels a folder is first moved up into the top one: a job that nests folders
// without end can neither use up the descriptors nor the stack.
constexpr int max_depth = 128;

// A job may have taken away the write permission of the folder that holds the name.
bool unlink_opening_up(int at, const std::string& name, int flags) {
  if (::unlinkat(at, name.c_str(), flags) == 0 || errno == ENOENT) return true;
  return errno == EACCES && ::fchmod(at, 0700) == 0 && ::unlinkat(at, name.c_str(), flags) == 0;
}

Fd open_for_removal(int at, const std::string& name) {
  constexpr int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  Fd fd(::openat(at, name.c_str(), flags));
  if (!fd.valid() && errno == EACCES && ::fchmodat(at, name.c_str(), 0700, 0) == 0) {
    fd.reset(::openat(at, name.c_str(), flags));
  }
  return fd;
}

class Removal {
 public:
  Status remove(int at, const std::string& name, int depth) {
    if (unlink_opening_up(at, name, 0)) return success();
    if (errno != EISDIR) return io_error("cannot remove " + name);
    if (unlink_opening_up(at, name, AT_REMOVEDIR)) return success();
    if (errno != ENOTEMPTY && errno != EEXIST) return io_error("cannot remove " + name);
    if (depth >= max_depth) return move_up(at, name);
    Fd folder = open_for_removal(at, name);
    if (!folder.valid()) return io_error("cannot open " + name + " to remove it");
    if (depth == 0) top_ = folder.get();
    unsigned moves_before = 0;
    do {
      moves_before = moves_;
      if (Status emptied = empty(folder, name, depth); !emptied.ok()) return emptied;
      if (unlink_opening_up(at, name, AT_REMOVEDIR)) return success();
    } while (depth == 0 && moves_ != moves_before);
    return io_error("cannot remove " + name);
  }

 private:
  Status empty(const Fd& folder, const std::string& name, int depth) {
    Result<std::vector<std::string>> names = names_in(folder.get());
    if (!names.ok()) return Error{names.error().code, name + ": " + names.error().message};
    for (const std::string& child : names.value()) {
      if (Status removed = remove(folder.get(), child, depth + 1); !removed.ok()) return removed;
    }
    return success();
  }

  // Into the tree's own top folder, so that a removal that is cut short leaves nothing elsewhere.
  Status move_up(int at, const std::string& name) {
    ::fchmod(top_, 0700);
    ::fchmod(at, 0700);
    ::fchmodat(at, name.c_str(), 0700, 0);  // its ".." changes: rename(2), EACCES
    for (;;) {
      const std::string moved = ".deep" + std::to_string(++moves_);
      if (::renameat(at, name.c_str(), top_, moved.c_str()) == 0) return success();
      const bool taken = errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR;
      if (!taken) return io_error("cannot move " + name + " up to remove it");
    }
  }

  int top_ = -1;
  unsigned moves_ = 0;
};

}  // namespace

Status remove_tree_at(int at, const std::string& name) { return Removal().remove(at, name, 0); }

}  // namespace gpl::posix
