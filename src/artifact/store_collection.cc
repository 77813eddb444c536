#include "store_collection.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "gpl/posix/clock.h"
#include "gpl/posix/error.h"
#include "gpl/posix/file.h"
#include "gpl/posix/listing.h"
#include "gpl/posix/tree.h"
#include "store_folders.h"
#include "store_object.h"

namespace gpl::artifact {
namespace {

constexpr Duration damaged_kept = seconds(std::int64_t{7} * 86'400);

/// One file of the store.
struct Found {
  std::string name;
  std::int64_t used_ns = 0;
  std::uint64_t bytes = 0;
};

Result<std::vector<Found>> files_in(int folder) {
  Result<std::vector<std::string>> names = posix::names_in(folder);
  if (!names.ok()) return std::move(names).error();
  std::vector<Found> files;
  for (std::string& name : names.value()) {
    struct stat status;
    if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    files.push_back({std::move(name), posix::to_ns(status.st_mtim), bytes_on_disk(status)});
  }
  return files;
}

class Collection {
 public:
  Collection(const StoreFolders& folders, const StoreLock& lock, Instant now)
      : folders_(folders), lock_(lock), now_(now) {}

  Status add_pinned() {
    Result<std::vector<Pin>> pins = list_pins(folders_.pins.get());
    if (!pins.ok()) return std::move(pins).error();
    const Digest* last = nullptr;
    for (const Pin& pin : pins.value()) {
      if (last != nullptr && *last == pin.id) continue;
      last = &pin.id;
      if (Status added = add_pinned(pin.id); !added.ok()) return added;
    }
    return success();
  }

  /// What living intakes need; those of dead processes are removed.
  Status settle_intakes() {
    Result<std::vector<std::string>> names = posix::names_in(folders_.intakes.get());
    if (!names.ok()) return std::move(names).error();
    for (const std::string& name : names.value()) {
      if (Status settled = settle_intake(name); !settled.ok()) return settled;
    }
    return success();
  }

  Result<Collected> remove(const StoreLimits& limits) {
    std::sort(needed_.begin(), needed_.end());
    Result<std::vector<Found>> files = files_in(folders_.objects.get());
    if (!files.ok()) return std::move(files).error();
    std::sort(files.value().begin(), files.value().end(),
              [](const Found& one, const Found& other) { return one.used_ns < other.used_ns; });
    for (const Found& file : files.value()) collected_.kept_bytes += file.bytes;
    for (const Found& file : files.value()) {
      if (is_needed(file.name)) {
        collected_.needed_bytes += file.bytes;
        continue;
      }
      const bool is_old = is_older(file, limits.max_age);
      if (!is_old && collected_.kept_bytes <= limits.max_bytes) continue;
      if (Status removed = remove(file); !removed.ok()) return std::move(removed).error();
    }
    return collected_;
  }

  Status remove_old_damaged() {
    Result<std::vector<Found>> files = files_in(folders_.damaged.get());
    if (!files.ok()) return std::move(files).error();
    for (const Found& file : files.value()) {
      if (is_older(file, damaged_kept)) ::unlinkat(folders_.damaged.get(), file.name.c_str(), 0);
    }
    return success();
  }

 private:
  Status add_pinned(const Digest& id) {
    needed_.push_back(id);
    Result<std::string> bytes = load_tree(folders_, id, &lock_);
    // A damaged manifest cannot tell its chunks: the tree is lost here, for others to bring back.
    if (!bytes.ok() && is_absence(bytes.error())) return success();
    if (!bytes.ok()) return std::move(bytes).error();
    Result<Manifest> manifest = decode_manifest(bytes.value());
    if (!manifest.ok()) return std::move(manifest).error();
    for (const TreeEntry& entry : manifest.value().entries)
      needed_.insert(needed_.end(), entry.chunks.begin(), entry.chunks.end());
    return success();
  }

  Status settle_intake(const std::string& name) {
    const std::string keep = name + "/keep";
    const posix::Fd fd(
        ::openat(folders_.intakes.get(), keep.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd.valid() && errno != ENOENT) return store_error(folders_, "cannot be collected", errno);
    if (!fd.valid() || ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0)
      return posix::remove_tree_at(folders_.intakes.get(), name);
    constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();
    Result<std::string> bytes = posix::read_file_at(folders_.intakes.get(), keep, no_limit);
    if (!bytes.ok() && bytes.error().code == Code::not_found) return success();  // it just ended
    if (!bytes.ok()) return std::move(bytes).error();
    const std::string_view ids = bytes.value();
    for (std::size_t at = 0; at + Digest::size_bytes <= ids.size(); at += Digest::size_bytes)
      needed_.push_back(*Digest::from_bytes(ids.substr(at, Digest::size_bytes)));
    return success();
  }

  bool is_needed(const std::string& name) const {
    const std::optional<Digest> id = object_id(name);
    // What is none of ours is left alone.
    return !id || std::binary_search(needed_.begin(), needed_.end(), *id);
  }

  bool is_older(const Found& file, Duration age) const {
    return now_.since_epoch_ms - file.used_ns / 1'000'000 > age.count_ms;
  }

  Status remove(const Found& file) {
    if (::unlinkat(folders_.objects.get(), file.name.c_str(), 0) != 0 && errno != ENOENT)
      return store_error(folders_, "cannot be collected", errno);
    ++collected_.removed_objects;
    collected_.removed_bytes += file.bytes;
    collected_.kept_bytes -= file.bytes;
    return success();
  }

  const StoreFolders& folders_;
  const StoreLock& lock_;
  Instant now_;
  std::vector<Digest> needed_;
  Collected collected_;
};

}  // namespace

Result<Collected> collect_objects(const StoreFolders& folders, const StoreLimits& limits,
                                  Instant now) {
  const Result<StoreLock> lock = StoreLock::exclusive(folders);
  if (!lock.ok()) return lock.error();
  Collection collection(folders, lock.value(), now);
  if (Status added = collection.add_pinned(); !added.ok()) return std::move(added).error();
  if (Status settled = collection.settle_intakes(); !settled.ok())
    return std::move(settled).error();
  if (Status removed = collection.remove_old_damaged(); !removed.ok())
    return std::move(removed).error();
  return collection.remove(limits);
}

}  // namespace gpl::artifact
