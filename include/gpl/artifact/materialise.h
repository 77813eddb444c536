#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gpl/artifact/entry.h"
#include "gpl/artifact/selection.h"
#include "gpl/core/result.h"

namespace gpl::artifact {

/// What was copied, as it is in the copy, and what a person must know of the rest.
struct Materialised {
  std::vector<Entry> entries;
  std::vector<Note> notes;
};

/// Copies `entries` of the folder `root`, ordered by path, into the empty folder `destination`:
/// content, modes (the 0777 bits) and modification times; links as links; owners become the
/// caller's. What has gone since it was listed, or cannot be read, is left out and noted; so is a
/// file that changed while it was copied, whose copy is then a prefix of some state of it. Fails
/// when the destination does (a full disk), or with Code::busy once `interrupted` says yes.
Result<Materialised> materialise(const std::string& root, const std::vector<Entry>& entries,
                                 const std::string& destination,
                                 const std::function<bool()>& interrupted);

}  // namespace gpl::artifact
