#include "gpl/artifact/tree_materialise.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "gpl/posix/clock.h"
#include "gpl/posix/error.h"
#include "gpl/posix/file.h"
#include "gpl/posix/listing.h"
#include "gpl/posix/tree.h"

namespace gpl::artifact {
namespace {

constexpr std::size_t small_bytes = 64 << 10;  // to share so little is not worth a call

Error failure(const TreeEntry& entry, const Error& error) {
  return {error.code, "cannot make the private copy of " + entry.path + ": " + error.message};
}

Error system_failure(const TreeEntry& entry) {
  return posix::io_error("cannot make the private copy of " + entry.path);
}

class TreeMaking {
 public:
  TreeMaking(const ChunkStore& store, int destination, const std::function<bool()>& interrupted)
      : store_(store), destination_(destination), interrupted_(interrupted) {}

  Status add(const TreeEntry& entry) {
    if (interrupted_ && interrupted_()) return Error{Code::busy, "interrupted"};
    switch (entry.type) {
      case EntryType::directory:
        if (::mkdirat(destination_, entry.path.c_str(), 0700) != 0) return system_failure(entry);
        return success();
      case EntryType::symlink:
        if (::symlinkat(entry.link_target.c_str(), destination_, entry.path.c_str()) != 0)
          return system_failure(entry);
        return success();
      case EntryType::file:
        return add_file(entry);
    }
    return success();
  }

  /// Last, deepest first: a folder may be read-only, or closed to its owner.
  Status finish_directory(const TreeEntry& entry) const {
    if (::fchmodat(destination_, entry.path.c_str(), entry.mode, 0) == 0) return success();
    return system_failure(entry);
  }

  /// How it lies there; of a folder, how it will.
  Result<Entry> look_at(const TreeEntry& entry) const {
    struct stat status;
    if (::fstatat(destination_, entry.path.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
      return system_failure(entry);
    Entry made;
    made.path = entry.path;
    made.type = entry.type;
    made.mode = entry.type == EntryType::directory ? entry.mode : status.st_mode & 0777U;
    made.mtime_ns = posix::to_ns(status.st_mtim);
    made.link_target = entry.link_target;
    if (entry.type == EntryType::file) {
      made.size_bytes = static_cast<std::uint64_t>(status.st_size);
      made.disk_bytes =
          std::min(made.size_bytes, static_cast<std::uint64_t>(status.st_blocks) * 512);
    }
    return made;
  }

 private:
  Status add_file(const TreeEntry& entry) {
    const posix::Fd to(::openat(destination_, entry.path.c_str(),
                                O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!to.valid()) return system_failure(entry);
    std::uint64_t at = 0;
    bool is_hole = false;
    for (const Digest& id : entry.chunks) {
      if (interrupted_ && interrupted_()) return Error{Code::busy, "interrupted"};
      const std::uint64_t size = std::min(chunk_size_bytes, entry.size_bytes - at);
      is_hole = size == chunk_size_bytes && id == zero_chunk_id();
      Status added = is_hole ? success() : add_chunk(id, size, to.get(), at);
      if (!added.ok()) return failure(entry, added.error());
      at += size;
    }
    if (is_hole && ::ftruncate(to.get(), static_cast<off_t>(entry.size_bytes)) != 0)
      return system_failure(entry);
    const timespec times[] = {{0, UTIME_OMIT}, posix::to_timespec(entry.mtime_ns)};
    if (::fchmod(to.get(), entry.mode) != 0 || ::futimens(to.get(), times) != 0)
      return system_failure(entry);
    return success();
  }

  Status add_chunk(const Digest& id, std::uint64_t size, int to, std::uint64_t at) {
    const Result<StoredChunk> stored = store_.chunk(id);
    if (!stored.ok()) return stored.error();
    const std::string& bytes = stored.value().chunk.bytes();
    if (bytes.size() != size)
      return Error{Code::invalid,
                   "the chunk " + id.hex() + " is not of the size that its tree says"};
    if (cloned(stored.value(), to, at)) return success();
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t put =
          ::pwrite(to, bytes.data() + done, bytes.size() - done, static_cast<off_t>(at + done));
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return posix::io_error("cannot be written");
      done += static_cast<std::size_t>(put);
    }
    return success();
  }

  bool cloned(const StoredChunk& stored, int to, std::uint64_t at) {
    if (!clones_ || !stored.raw.valid() || stored.chunk.bytes().size() < small_bytes) return false;
    file_clone_range range{};
    range.src_fd = stored.raw.get();
    range.dest_offset = at;  // length 0: up to its end
    clones_ = ::ioctl(to, FICLONERANGE, &range) == 0;
    return clones_;
  }

  const ChunkStore& store_;
  int destination_;
  const std::function<bool()>& interrupted_;
  bool clones_ = true;  // until the file systems turn out not to
};

Result<std::vector<Entry>> make_all(const Manifest& manifest, TreeMaking& making) {
  for (const TreeEntry& entry : manifest.entries) {
    if (Status added = making.add(entry); !added.ok()) return std::move(added).error();
  }
  std::vector<Entry> entries;
  entries.reserve(manifest.entries.size());
  for (const TreeEntry& entry : manifest.entries) {
    Result<Entry> made = making.look_at(entry);
    if (!made.ok()) return std::move(made).error();
    entries.push_back(std::move(made).value());
  }
  for (auto entry = manifest.entries.rbegin(); entry != manifest.entries.rend(); ++entry) {
    if (entry->type != EntryType::directory) continue;
    if (Status done = making.finish_directory(*entry); !done.ok()) return std::move(done).error();
  }
  return entries;
}

void empty(int folder) {
  const Result<std::vector<std::string>> names = posix::names_in(folder);
  if (!names.ok()) return;
  for (const std::string& name : names.value()) (void)posix::remove_tree_at(folder, name);
}

}  // namespace

Result<std::vector<Entry>> materialise_tree(const Manifest& manifest, const ChunkStore& store,
                                            const std::string& destination,
                                            const std::function<bool()>& interrupted) {
  // Also for manifests that were never decoded: no path may lead out of the destination.
  if (Status fine = check_manifest(manifest); !fine.ok()) return std::move(fine).error();
  Result<posix::Fd> folder = posix::open_folder(destination);
  if (!folder.ok()) return std::move(folder).error();
  TreeMaking making(store, folder.value().get(), interrupted);
  Result<std::vector<Entry>> entries = make_all(manifest, making);
  if (!entries.ok()) empty(folder.value().get());
  return entries;
}

}  // namespace gpl::artifact
