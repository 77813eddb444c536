#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gpl/artifact/chunk_store.h"
#include "gpl/artifact/digest.h"
#include "gpl/core/result.h"
#include "store_folders.h"

namespace gpl::artifact {

/// An object's file is named by its id and by how it lies there: a chunk as it is, or as one zstd
/// frame; a tree's encoded manifest as a frame.
inline std::string raw_chunk_name(const Digest& id) { return id.hex(); }
inline std::string compressed_chunk_name(const Digest& id) { return id.hex() + ".z"; }
inline std::string tree_name(const Digest& id) { return id.hex() + ".t"; }
/// The id in an object's name; nothing for any other name.
std::optional<Digest> object_id(std::string_view name);

/// Whether it is there, by its name alone. Notes its use for collection.
bool has_chunk(const StoreFolders& folders, const Digest& id);
bool has_tree(const StoreFolders& folders, const Digest& id);

/// Read and check an object, and note its use for collection. Code::not_found: it is not there.
/// Code::invalid: it is damaged, and has been moved aside. Code::io. A tree's content is its
/// encoding; `lock`: the caller's exclusive one, or null.
Result<StoredChunk> load_chunk(const StoreFolders& folders, const Digest& id);
Result<std::string> load_tree(const StoreFolders& folders, const Digest& id, const StoreLock* lock);

/// Whether a load failed because the object is not there, or no longer.
inline bool is_absence(const Error& error) {
  return error.code == Code::not_found || error.code == Code::invalid;
}

/// What a file takes on disk.
inline std::uint64_t bytes_on_disk(const struct stat& status) {
  return static_cast<std::uint64_t>(status.st_blocks) * 512;
}

}  // namespace gpl::artifact
