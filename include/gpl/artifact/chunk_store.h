#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpl/artifact/chunk.h"
#include "gpl/artifact/digest.h"
#include "gpl/artifact/intake.h"
#include "gpl/artifact/manifest.h"
#include "gpl/artifact/pins.h"
#include "gpl/core/result.h"
#include "gpl/core/time.h"
#include "gpl/posix/fd.h"
#include "gpl/posix/file.h"

namespace gpl::artifact {

struct StoreFolders;

/// A chunk, and its file when that holds just its bytes: then it can be cloned.
struct StoredChunk {
  Chunk chunk;
  posix::Fd raw;  ///< read-only; none when the chunk is compressed on disk
};

/// What is in a store, in bytes that it takes on disk.
struct StoreUsage {
  std::size_t objects = 0;  ///< chunks and trees
  std::uint64_t bytes = 0;
  std::size_t damaged_objects = 0;  ///< moved aside
  std::uint64_t damaged_bytes = 0;
};

/// Beyond these, what nobody needs is collected.
struct StoreLimits {
  std::uint64_t max_bytes = 0;
  Duration max_age;  ///< since the last use
};

/// What a collection did.
struct Collected {
  std::size_t removed_objects = 0;
  std::uint64_t removed_bytes = 0;
  std::uint64_t kept_bytes = 0;    ///< left in the store
  std::uint64_t needed_bytes = 0;  ///< of these: pinned, or being put
};

/// Chunks and trees in a folder, each under the name of its content. May be used by many threads
/// and processes at once. An object that has its name is whole and on disk; content is checked
/// whenever it is read.
class ChunkStore {
 public:
  /// Opens the store in `folder`, and makes it if there is none (mode 0700).
  static Result<ChunkStore> open(const std::string& folder);
  ChunkStore(ChunkStore&&) noexcept;
  ChunkStore& operator=(ChunkStore&&) noexcept;
  ~ChunkStore();

  /// Code::not_found: it is not there, or was damaged and has been moved aside. Code::io.
  Result<StoredChunk> chunk(const Digest& id) const;
  Result<Manifest> tree(const Digest& id) const;
  /// A tree's encoding, to hand on.
  Result<std::string> encoded_tree(const Digest& id) const;
  /// Whether a tree and all its chunks are there, by their names. To be asked while it is pinned.
  Result<bool> is_whole(const Digest& tree) const;

  /// Begins to bring something in. Code::io, or denied.
  Result<Intake> intake() const;

  /// From then on the tree with its chunks, or the single chunk, is not collected; what of it was
  /// collected before is not brought back: look with `is_whole`. `synced` costs one sync.
  Status pin(const Pin& pin, posix::Durability durability) const;
  /// After a power loss a pin that was removed may be there again.
  Status unpin(const Pin& pin) const;
  Result<std::vector<Pin>> pins() const;

  /// Removes what no pin and no intake needs and was not used for max_age; then more of it, least
  /// recently used first, until max_bytes are left. Cleans up after intakes of dead processes, and
  /// removes damaged objects after a week. Others wait meanwhile when they begin, look up or
  /// commit; reading goes on. `now` is the time of day. Code::io: it stopped early.
  Result<Collected> collect(const StoreLimits& limits, Instant now) const;

  Result<StoreUsage> usage() const;

 private:
  explicit ChunkStore(std::unique_ptr<StoreFolders> folders);

  std::unique_ptr<StoreFolders> folders_;  // stays where it is: intakes point to it
};

}  // namespace gpl::artifact
