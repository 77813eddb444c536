#include "gpl/artifact/made_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "gpl/artifact/folder.h"
#include "gpl/posix/clock.h"
#include "gpl/posix/error.h"

namespace gpl::artifact {
namespace {

// Deeper than any path that can be named (PATH_MAX is 4096 bytes).
constexpr int max_depth = 2048;

std::optional<EntryType> type_of(mode_t mode) {
  if (S_ISREG(mode)) return EntryType::file;
  if (S_ISLNK(mode)) return EntryType::symlink;
  return std::nullopt;
}

Entry entry_of(std::string path, EntryType type, const struct stat& status) {
  Entry entry;
  entry.path = std::move(path);
  entry.type = type;
  entry.mode = status.st_mode & 0777U;
  entry.mtime_ns = posix::to_ns(status.st_mtim);
  if (type == EntryType::file) {
    entry.size_bytes = static_cast<std::uint64_t>(status.st_size);
    entry.disk_bytes =
        std::min(entry.size_bytes, static_cast<std::uint64_t>(status.st_blocks) * 512);
  }
  return entry;
}

Result<Folder> open_opening_up(int at, const std::string& name) {
  Result<Folder> folder = Folder::open(at, name.c_str());
  const bool denied = !folder.ok() && folder.error().code == Code::denied;
  if (!denied || ::fchmodat(at, name.c_str(), 0700, 0) != 0) return folder;
  return Folder::open(at, name.c_str());
}

class Search {
 public:
  explicit Search(const StartMark& mark) : mark_(mark) {}

  Status look_into(int at, const std::string& name, const std::string& prefix, int depth) {
    Result<Folder> folder = open_opening_up(at, name);
    if (!folder.ok()) return std::move(folder).error();
    Result<std::vector<Folder::Name>> names = folder.value().names();
    if (!names.ok()) return std::move(names).error();
    for (const Folder::Name& child : names.value()) {
      if (Status looked = look_at(folder.value(), child, prefix, depth); !looked.ok())
        return looked;
    }
    return success();
  }

  std::vector<Entry> take() {
    std::sort(found_.begin(), found_.end(),
              [](const Entry& one, const Entry& other) { return one.path < other.path; });
    return std::move(found_);
  }

 private:
  Status look_at(const Folder& folder, const Folder::Name& child, const std::string& prefix,
                 int depth) {
    const std::string path = prefix + child.name;
    struct stat status;
    if (::fstatat(folder.descriptor(), child.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno != EACCES || ::fchmod(folder.descriptor(), 0700) != 0 ||
          ::fstatat(folder.descriptor(), child.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return posix::io_error("cannot look at the made file " + path);
      }
    }
    if (S_ISDIR(status.st_mode)) {
      if (child.name == "__pycache__" || depth >= max_depth) return success();
      return look_into(folder.descriptor(), child.name, path + "/", depth + 1);
    }
    const std::optional<EntryType> type = type_of(status.st_mode);
    if (!type || posix::to_ns(status.st_ctim) < mark_.changed_ns) return success();
    Entry entry = entry_of(path, *type, status);
    if (*type == EntryType::symlink) {
      entry.link_target = read_link(folder.descriptor(), child.name.c_str()).value_or("");
    }
    if (posix::to_ns(status.st_ctim) == mark_.changed_ns && is_as_staged(entry)) return success();
    found_.push_back(std::move(entry));
    return success();
  }

  bool is_as_staged(const Entry& entry) const {
    // A copy has its source's time of change, and what the command wrote has that of the tick.
    if (mark_.staged == nullptr) return entry.mtime_ns < mark_.changed_ns;
    const auto at = std::lower_bound(
        mark_.staged->begin(), mark_.staged->end(), entry.path,
        [](const Entry& staged, const std::string& path) { return staged.path < path; });
    if (at == mark_.staged->end() || at->path != entry.path || at->type != entry.type) return false;
    if (entry.type == EntryType::symlink) return at->link_target == entry.link_target;
    return at->size_bytes == entry.size_bytes && at->mtime_ns == entry.mtime_ns &&
           at->mode == entry.mode;
  }

  const StartMark& mark_;
  std::vector<Entry> found_;
};

}  // namespace

Result<std::vector<Entry>> made_files(const std::string& root, const StartMark& mark) {
  Search search(mark);
  if (Status looked = search.look_into(AT_FDCWD, root, "", 0); !looked.ok()) {
    return std::move(looked).error();
  }
  return search.take();
}

}  // namespace gpl::artifact
