#include "gpl/artifact/chunk.h"

#include <cassert>
#include <utility>

namespace gpl::artifact {

Chunk Chunk::of(std::string bytes) {
  assert(!bytes.empty() && bytes.size() <= chunk_size_bytes);
  const Digest id = digest_of(bytes);
  return {id, std::move(bytes)};
}

Result<Chunk> Chunk::verified(const Digest& id, std::string bytes) {
  if (bytes.empty() || bytes.size() > chunk_size_bytes) {
    return Error{Code::invalid, "a chunk of " + std::to_string(bytes.size()) +
                                    " bytes was sent as " + id.hex() + ": a chunk has 1 to " +
                                    std::to_string(chunk_size_bytes)};
  }
  if (digest_of(bytes) != id)
    return Error{Code::invalid, "the content of chunk " + id.hex() + " is not what its name says"};
  return Chunk(id, std::move(bytes));
}

Chunk Chunk::zeros() { return {zero_chunk_id(), std::string(chunk_size_bytes, '\0')}; }

const Digest& zero_chunk_id() {
  static const Digest id = digest_of(std::string(chunk_size_bytes, '\0'));
  return id;
}

}  // namespace gpl::artifact
