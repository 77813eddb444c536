#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "gpl/artifact/entry.h"
#include "gpl/artifact/git_config.h"
#include "gpl/core/result.h"

namespace gpl::artifact {

struct SelectionOptions {
  /// Paths (--stage) that are taken with everything below them, whatever the rules say; relative to
  /// the root, or absolute and in it; "." is all of it. A `.git` is left out there too, unless the
  /// path names it or lies inside it. A symbolic link is kept, and what it leads to is taken too;
  /// one that leads out of the root is replaced by a copy of what it leads to (Entry::source).
  std::vector<std::string> always;
  bool only_always = false;  ///< nothing else: for $HOME and /
  /// Over these, select fails. What `always` names does not count: who names it insists.
  std::uint64_t max_bytes = std::uint64_t{1} << 30U;  ///< sum of Entry::disk_bytes
  std::uint64_t max_files = 100'000;                  ///< files and links
  GitHome git;
};

/// Something that a person must know about the selection.
struct Note {
  enum class Kind {
    left_out,  ///< the path is not taken: a socket, a folder that may not be read...
    changed,   ///< the file was written to while it was taken
    link,      ///< a link is taken, but will not lead where it leads here
    rules,  ///< ignore rules or a repository could not be read, so more or less is taken than git
            ///< would say
  };
  Kind kind;
  std::string path;    ///< relative to the root, "." for the root; of rules also absolute
  std::string reason;  ///< follows the path in a sentence: "is a socket"
  friend bool operator==(const Note&, const Note&) = default;
};

struct Selection {
  std::vector<Entry> entries;  ///< by path bytes, each path once; a path's folders are entries too
  std::vector<Note> notes;     ///< by path
  std::uint64_t files = 0;     ///< files and links
  std::uint64_t bytes =
      0;  ///< sum of Entry::disk_bytes: holes of sparse files cost nothing to copy
};

/// What `gpl run` takes along of the directory `root`; opens folders and ignore files, and no other
/// file.
///
/// In a git work tree (root is its top or lies below): the set of `git ls-files -co
/// --exclude-standard` in root, as its files are on disk: tracked files, and untracked ones that no
/// rule ignores; of submodules and nested work trees by their own rules. Elsewhere: what the
/// .gitignore files from root downward leave. .gplignore files come on top (ignore.h). `.git` is
/// left out. Folders are taken when they hold something that is, or are not ignored themselves.
/// Symbolic links are never followed. A file that vanishes meanwhile is not taken.
///
/// Unlike git: a .gitignore that a sparse checkout leaves out (its text is in the object store
/// alone) is not applied, which is noted; core.excludesFile of the form ~name/ is not found; a
/// submodule whose `.git` leads nowhere, where git fails, is taken by its .gitignore files.
///
/// Errors: not_found and invalid for root and `always`; too_large with the largest folders; io; and
/// what GitIndex::read and open_repository say of a damaged repository.
Result<Selection> select(const std::string& root, const SelectionOptions& options);

}  // namespace gpl::artifact
