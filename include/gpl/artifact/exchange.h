#pragma once

#include <vector>

#include "gpl/artifact/chunk.h"
#include "gpl/artifact/manifest.h"

namespace gpl::artifact {

/// What of a tree's content has to travel: the chunks that `sink` does not have, each once. Errors
/// of the sink.
Result<std::vector<Digest>> missing(const Manifest& manifest, ChunkSink& sink);

}  // namespace gpl::artifact
