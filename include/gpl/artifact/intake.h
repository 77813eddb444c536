#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gpl/artifact/chunk.h"
#include "gpl/artifact/compression.h"
#include "gpl/artifact/manifest.h"
#include "gpl/posix/fd.h"

namespace gpl::artifact {

struct StoreFolders;

/// What a commit did.
struct Committed {
  std::size_t objects = 0;  ///< that came to the store
  unsigned syncs = 0;       ///< calls that waited for the disk
};

/// One bringing in of a tree, by one thread; made by ChunkStore::intake, which must outlive it.
/// What is put lies in a folder of its own until `commit` has it on disk, and only then gets its
/// name in the store. What was put, and what `missing` was asked about, is not collected while this
/// lives: pin the tree before it ends. When it ends, by kill -9 even, what is not committed is
/// gone.
class Intake : public ChunkSink {
 public:
  Intake(Intake&&) noexcept = default;
  Intake& operator=(Intake&&) = delete;
  ~Intake() override;

  Result<std::vector<Digest>> missing(const std::vector<Digest>& ids) override;
  /// Errors io with what to do: the disk is full. Every GiB there is a commit, so that a long
  /// intake that breaks off begins where it stopped.
  Status put(const Chunk& chunk) override;
  /// Puts the manifest; its chunks are the caller's affair. Returns its id. Errors as of
  /// encode_manifest and put.
  Result<Digest> put_tree(const Manifest& manifest);

  /// All that was put or found to be there is in the store, and survives a power loss from now on.
  /// On an error nothing is half there, what was put is dropped, and may be put again.
  Result<Committed> commit();

 private:
  friend class ChunkStore;
  static Result<Intake> begin(StoreFolders& folders);
  Intake(StoreFolders& folders, std::string name, posix::Fd folder, posix::Fd keep)
      : folders_(&folders),
        name_(std::move(name)),
        folder_(std::move(folder)),
        keep_(std::move(keep)) {}

  bool has_staged_chunk(const Digest& id) const;
  Status stage(std::string name, std::string_view bytes);
  Result<posix::Fd> write_staged(const std::string& name, std::string_view bytes) const;
  Status keep(std::string_view ids) const;
  Result<unsigned> sync_staged() const;
  Status name_staged();
  void drop_staged();

  StoreFolders* folders_;
  std::string name_;  // of folder_, in the store's folder of intakes
  posix::Fd folder_;  // staged objects, under the names that they will have
  posix::Fd keep_;    // ids that may not be collected; locked while this lives
  Compressor compressor_;
  std::map<std::string, posix::Fd> staged_;  // by name; the first few are open
  std::uint64_t staged_bytes_ = 0;
};

}  // namespace gpl::artifact
