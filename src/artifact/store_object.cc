#include "store_object.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "gpl/artifact/compression.h"
#include "gpl/posix/clock.h"
#include "gpl/posix/error.h"

namespace gpl::artifact {
namespace {

// An object's modification time is that of its last use, give or take this: a write an hour.
constexpr std::int64_t touch_after_ns = std::int64_t{3'600} * 1'000'000'000;

bool is_worth_a_touch(const struct stat& status) {
  const std::int64_t now_ns = posix::wall_clock().since_epoch_ms * 1'000'000;
  return posix::to_ns(status.st_mtim) + touch_after_ns < now_ns;
}

bool has_object(const StoreFolders& folders, const std::string& name) {
  struct stat status;
  if (::fstatat(folders.objects.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
    return false;
  if (is_worth_a_touch(status))
    (void)::utimensat(folders.objects.get(), name.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
  return true;
}

struct OpenObject {
  std::string name;
  posix::Fd file;
  struct stat status;
};

Result<OpenObject> open_object(const StoreFolders& folders, std::string name) {
  OpenObject object{std::move(name), {}, {}};
  object.file.reset(
      ::openat(folders.objects.get(), object.name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!object.file.valid() && errno == ENOENT)
    return Error{Code::not_found, object.name + " is not in the store " + folders.path};
  if (!object.file.valid() || ::fstat(object.file.get(), &object.status) != 0)
    return store_error(folders, "cannot open " + object.name, errno);
  if (is_worth_a_touch(object.status)) (void)::futimens(object.file.get(), nullptr);
  return object;
}

/// All bytes of the file; fewer when it has become shorter. Code::invalid for what is damage.
Result<std::string> read_file(const OpenObject& object, std::size_t max_content_bytes) {
  // A frame of what does not compress is a little larger than its content.
  const std::uint64_t limit = max_content_bytes + max_content_bytes / 128 + 1024;
  const auto size = static_cast<std::uint64_t>(object.status.st_size);
  if (!S_ISREG(object.status.st_mode) || size > limit)
    return Error{Code::invalid, "it is larger than any object"};
  std::string bytes(size, '\0');
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = ::read(object.file.get(), bytes.data() + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    // A bad sector is damage like any other; a lack of memory, say, is not.
    if (got < 0 && errno == EIO) return Error{Code::invalid, "it cannot be read from its disk"};
    if (got < 0) return posix::io_error("cannot read " + object.name);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

/// The Error of an object that was read to no avail. A damaged one is moved aside.
Error failure(const StoreFolders& folders, const OpenObject& object, Error error,
              const StoreLock* lock) {
  if (error.code != Code::invalid) return error;
  std::optional<StoreLock> own;
  if (lock == nullptr) {
    Result<StoreLock> taken = StoreLock::exclusive(folders);
    if (!taken.ok()) return std::move(taken).error();
    own = std::move(taken).value();
  }
  struct stat now;
  // A good one may have been put in its place meanwhile.
  if (::fstatat(folders.objects.get(), object.name.c_str(), &now, AT_SYMLINK_NOFOLLOW) == 0 &&
      now.st_dev == object.status.st_dev && now.st_ino == object.status.st_ino &&
      ::renameat(folders.objects.get(), object.name.c_str(), folders.damaged.get(),
                 object.name.c_str()) != 0) {
    return store_error(folders, "cannot move the damaged " + object.name + " aside", errno);
  }
  return {Code::invalid, object.name + " in the store " + folders.path + " is damaged (" +
                             error.message + "): it was moved to " + folders.path +
                             "/damaged and counts as missing; check the disk"};
}

Result<StoredChunk> load_chunk_file(const StoreFolders& folders, const Digest& id,
                                    bool compressed) {
  Result<OpenObject> object =
      open_object(folders, compressed ? compressed_chunk_name(id) : raw_chunk_name(id));
  if (!object.ok()) return std::move(object).error();
  Result<std::string> bytes = read_file(object.value(), chunk_size_bytes);
  if (bytes.ok() && compressed) bytes = decompress(bytes.value(), chunk_size_bytes);
  if (!bytes.ok()) return failure(folders, object.value(), std::move(bytes).error(), nullptr);
  Result<Chunk> chunk = Chunk::verified(id, std::move(bytes).value());
  if (!chunk.ok()) return failure(folders, object.value(), std::move(chunk).error(), nullptr);
  posix::Fd raw = compressed ? posix::Fd() : std::move(object.value().file);
  return StoredChunk{std::move(chunk).value(), std::move(raw)};
}

}  // namespace

std::optional<Digest> object_id(std::string_view name) {
  constexpr std::size_t digits = 2 * Digest::size_bytes;
  const std::string_view suffix = name.substr(std::min(digits, name.size()));
  if (!suffix.empty() && suffix != ".z" && suffix != ".t") return std::nullopt;
  return Digest::from_hex(name.substr(0, digits));
}

bool has_chunk(const StoreFolders& folders, const Digest& id) {
  return has_object(folders, raw_chunk_name(id)) || has_object(folders, compressed_chunk_name(id));
}

bool has_tree(const StoreFolders& folders, const Digest& id) {
  return has_object(folders, tree_name(id));
}

Result<StoredChunk> load_chunk(const StoreFolders& folders, const Digest& id) {
  Result<StoredChunk> raw = load_chunk_file(folders, id, false);
  if (raw.ok() || !is_absence(raw.error())) return raw;
  Result<StoredChunk> compressed = load_chunk_file(folders, id, true);
  // Of a damaged one and none, the damaged one is to be told.
  if (!compressed.ok() && compressed.error().code == Code::not_found) return raw;
  return compressed;
}

Result<std::string> load_tree(const StoreFolders& folders, const Digest& id,
                              const StoreLock* lock) {
  Result<OpenObject> object = open_object(folders, tree_name(id));
  if (!object.ok()) return std::move(object).error();
  Result<std::string> bytes = read_file(object.value(), max_manifest_bytes);
  if (bytes.ok()) bytes = decompress(bytes.value(), max_manifest_bytes);
  if (bytes.ok() && digest_of(bytes.value()) != id)
    bytes = Error{Code::invalid, "its content is not what its name says"};
  if (!bytes.ok()) return failure(folders, object.value(), std::move(bytes).error(), lock);
  return bytes;
}

}  // namespace gpl::artifact
