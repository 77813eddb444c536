#pragma once

#include <string>
#include <vector>

#include "gpl/core/result.h"

namespace gpl::artifact {

/// What one path of SelectionOptions::always comes to.
struct AlwaysTarget {
  enum class Kind {
    link,   ///< the link itself
    whole,  ///< a file, or a folder and everything below it
  };
  Kind kind;
  std::string path;  ///< relative to the root, free of links in the middle; empty: the root itself
  std::string source;  ///< absolute, when the content lies outside of the root; else empty
};

/// Resolves `path` below `root`, which is real and absolute; `given_root` is as the caller named
/// it. A link gives a target of its own, and those of what it leads to. Error not_found or invalid.
Result<std::vector<AlwaysTarget>> resolve_always(const std::string& root,
                                                 const std::string& given_root,
                                                 const std::string& path);

}  // namespace gpl::artifact
