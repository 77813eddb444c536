#pragma once

#include "gpl/artifact/chunk_store.h"

namespace gpl::artifact {

/// ChunkStore::collect.
Result<Collected> collect_objects(const StoreFolders& folders, const StoreLimits& limits,
                                  Instant now);

}  // namespace gpl::artifact
