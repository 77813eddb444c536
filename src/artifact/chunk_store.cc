#include "gpl/artifact/chunk_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "gpl/posix/listing.h"
#include "store_collection.h"
#include "store_folders.h"
#include "store_object.h"

namespace gpl::artifact {
namespace {

// Who asks for an object can do nothing else about a damaged one than about one that is not there.
Error as_missing(Error error) {
  if (error.code == Code::invalid) error.code = Code::not_found;
  return error;
}

/// Adds up the files in a folder.
Status add_up(int folder, std::size_t& files, std::uint64_t& bytes) {
  Result<std::vector<std::string>> names = posix::names_in(folder);
  if (!names.ok()) return std::move(names).error();
  for (const std::string& name : names.value()) {
    struct stat status;
    if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    ++files;
    bytes += bytes_on_disk(status);
  }
  return success();
}

}  // namespace

ChunkStore::ChunkStore(std::unique_ptr<StoreFolders> folders) : folders_(std::move(folders)) {}
ChunkStore::ChunkStore(ChunkStore&&) noexcept = default;
ChunkStore& ChunkStore::operator=(ChunkStore&&) noexcept = default;
ChunkStore::~ChunkStore() = default;

Result<ChunkStore> ChunkStore::open(const std::string& folder) {
  Result<std::unique_ptr<StoreFolders>> folders = StoreFolders::open(folder);
  if (!folders.ok()) return std::move(folders).error();
  return ChunkStore(std::move(folders).value());
}

Result<StoredChunk> ChunkStore::chunk(const Digest& id) const {
  Result<StoredChunk> chunk = load_chunk(*folders_, id);
  return chunk.ok() ? std::move(chunk) : as_missing(std::move(chunk).error());
}

Result<std::string> ChunkStore::encoded_tree(const Digest& id) const {
  Result<std::string> bytes = load_tree(*folders_, id, nullptr);
  return bytes.ok() ? std::move(bytes) : as_missing(std::move(bytes).error());
}

Result<Manifest> ChunkStore::tree(const Digest& id) const {
  Result<std::string> bytes = encoded_tree(id);
  if (!bytes.ok()) return std::move(bytes).error();
  return decode_manifest(bytes.value());
}

Result<bool> ChunkStore::is_whole(const Digest& id) const {
  Result<Manifest> manifest = tree(id);
  if (!manifest.ok() && manifest.error().code == Code::not_found) return false;
  if (!manifest.ok()) return std::move(manifest).error();
  for (const TreeEntry& entry : manifest.value().entries) {
    const auto has = [this](const Digest& chunk) { return has_chunk(*folders_, chunk); };
    if (!std::all_of(entry.chunks.begin(), entry.chunks.end(), has)) return false;
  }
  return true;
}

Result<Intake> ChunkStore::intake() const { return Intake::begin(*folders_); }

Status ChunkStore::pin(const Pin& pin, posix::Durability durability) const {
  const Result<StoreLock> lock = StoreLock::shared(*folders_);
  if (!lock.ok()) return lock.error();
  if (Status added = add_pin(folders_->pins.get(), pin); !added.ok()) return added;
  if (durability == posix::Durability::synced && ::fsync(folders_->pins.get()) != 0)
    return store_error(*folders_, "cannot sync its pins", errno);
  return success();
}

Status ChunkStore::unpin(const Pin& pin) const { return remove_pin(folders_->pins.get(), pin); }

Result<std::vector<Pin>> ChunkStore::pins() const { return list_pins(folders_->pins.get()); }

Result<Collected> ChunkStore::collect(const StoreLimits& limits, Instant now) const {
  return collect_objects(*folders_, limits, now);
}

Result<StoreUsage> ChunkStore::usage() const {
  StoreUsage usage;
  if (Status added = add_up(folders_->objects.get(), usage.objects, usage.bytes); !added.ok())
    return std::move(added).error();
  Status added = add_up(folders_->damaged.get(), usage.damaged_objects, usage.damaged_bytes);
  if (!added.ok()) return std::move(added).error();
  return usage;
}

}  // namespace gpl::artifact
