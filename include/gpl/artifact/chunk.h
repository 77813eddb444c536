#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpl/artifact/digest.h"
#include "gpl/core/result.h"

namespace gpl::artifact {

/// Files are cut into chunks of this many bytes; the last one of a file may be shorter.
constexpr std::uint64_t chunk_size_bytes = std::uint64_t{4} << 20U;

/// Of how many chunks a file of this size is made.
constexpr std::uint64_t chunk_count(std::uint64_t file_bytes) {
  return file_bytes / chunk_size_bytes + (file_bytes % chunk_size_bytes != 0 ? 1 : 0);
}

/// A piece of file content, 1 byte to chunk_size_bytes, with the name that it really has: there is
/// no way to make one whose id and bytes do not agree.
class Chunk {
 public:
  /// Requires a size in the limits.
  static Chunk of(std::string bytes);
  /// Code::invalid when `bytes` are not what `id` names.
  static Result<Chunk> verified(const Digest& id, std::string bytes);
  /// A full chunk of zeros: what the holes of sparse files are made of.
  static Chunk zeros();

  const Digest& id() const { return id_; }
  const std::string& bytes() const { return bytes_; }

 private:
  Chunk(const Digest& id, std::string bytes) : id_(id), bytes_(std::move(bytes)) {}

  Digest id_;
  std::string bytes_;
};

/// The id of Chunk::zeros().
const Digest& zero_chunk_id();

/// Takes chunks: a store on this machine, or a peer at the other end of a connection. What was put
/// counts as there from then on.
class ChunkSink {
 public:
  virtual ~ChunkSink() = default;
  /// Those of `ids` that are not there, each once, in order of first mention. The others will not
  /// go away before the sink does.
  virtual Result<std::vector<Digest>> missing(const std::vector<Digest>& ids) = 0;
  virtual Status put(const Chunk& chunk) = 0;
};

}  // namespace gpl::artifact
