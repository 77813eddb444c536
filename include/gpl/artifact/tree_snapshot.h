#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gpl/artifact/chunk.h"
#include "gpl/artifact/entry.h"
#include "gpl/artifact/manifest.h"
#include "gpl/artifact/selection.h"
#include "gpl/artifact/stat_cache.h"
#include "gpl/core/result.h"
#include "gpl/core/time.h"

namespace gpl::artifact {

/// A tree as it was taken, and what a person must know of it.
struct TreeSnapshot {
  Manifest manifest;
  std::vector<Note> notes;
  std::uint64_t files_read = 0;  ///< the others were known from the cache
};

/// Takes `entries` of the folder `root` (Selection::entries) as a tree, and sees to it that `sink`
/// has all their content. Files that `cache`, which may be null, knows in their present state are
/// not opened unless the sink lacks content of theirs. `now`: the time of day, no later than this
/// call. Holds some 20 MiB of content at a time, whatever the files' sizes.
///
/// What has gone since it was listed, or cannot be read, is left out and noted; so is a file that
/// changed while it was read, which is then a prefix of some mixture of its states. Errors: the
/// sink's; io; busy once `interrupted` says yes; as of encode_manifest when it cannot be a tree.
Result<TreeSnapshot> snapshot_tree(const std::string& root, const std::vector<Entry>& entries,
                                   StatCache* cache, ChunkSink& sink, Instant now,
                                   const std::function<bool()>& interrupted);

}  // namespace gpl::artifact
