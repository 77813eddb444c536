#pragma once

#include <string>
#include <vector>

#include "gpl/artifact/entry.h"
#include "gpl/core/result.h"

namespace gpl::artifact {

/// Whether delivered files stay where they were, too.
enum class Handover { copy, move };

/// What became of each entry. An undelivered one is still where it was.
struct Undelivered {
  Entry entry;
  std::string reason;  ///< follows the path in a sentence: "cannot be written: ..."
};
struct Delivered {
  std::vector<Entry> done;
  std::vector<Undelivered> failed;
};

/// Writes `entries`, files and links of the folder `from`, to the same paths below the folder `to`,
/// making folders as needed and replacing files that are there, each in one step. Never writes
/// outside `to`: a link in it that leads out is not followed.
Result<Delivered> deliver(const std::string& from, const std::vector<Entry>& entries,
                          const std::string& to, Handover handover);

}  // namespace gpl::artifact
