#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gpl/artifact/chunk_store.h"
#include "gpl/artifact/entry.h"
#include "gpl/artifact/manifest.h"
#include "gpl/core/result.h"

namespace gpl::artifact {

/// Makes a tree in the empty folder `destination` from what `store` has: content, checked as it
/// goes; modes; the files' modification times; links as links. Content is cloned where the file
/// system shares extents, else written; holes stay holes. Returns the entries as they lie in the
/// copy, ordered by path. Pin the tree while this runs.
///
/// On an error the folder is empty again. Code::not_found: the store lacks content, or found it
/// damaged; `missing` tells all that has to be fetched. invalid: not a tree, or a chunk of another
/// size than it says. io: the destination's, a full disk for one. busy: `interrupted` said yes.
Result<std::vector<Entry>> materialise_tree(const Manifest& manifest, const ChunkStore& store,
                                            const std::string& destination,
                                            const std::function<bool()>& interrupted);

}  // namespace gpl::artifact
