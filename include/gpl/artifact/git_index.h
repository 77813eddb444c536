#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gpl/artifact/git_index_file.h"
#include "gpl/core/result.h"

namespace gpl::artifact {

/// The paths that a repository's index tracks, for look-ups. Which stage, flag or object they have
/// does not matter here: an unmerged, intent-to-add or skip-worktree path is tracked like any
/// other, and is taken when it is there.
///
/// A sparse index (`sdir`) names a whole folder outside of the sparse checkout once, as `folder/`,
/// and the tracked paths in it stand in git's object store alone. Normally nothing of it is on
/// disk; what is, is then taken by the ignore rules as if untracked, so only a tracked file that a
/// rule matches is missed.
class GitIndex {
 public:
  enum class FolderKind {
    none,       ///< nothing tracked in it
    tracked,    ///< holds tracked paths
    submodule,  ///< is itself an entry: a gitlink
  };

  GitIndex() = default;

  /// Reads GIT_DIR/index, and the shared index that it names. A missing index is an empty one.
  /// Error with the file, what is wrong with it, and the way out.
  static Result<GitIndex> read(const std::string& git_dir, std::size_t hash_bytes, bool fold_case);

  /// `shared`: the index that `file`'s link names; required when it has one.
  static Result<GitIndex> combine(const GitIndexFile& file, const GitIndexFile* shared,
                                  bool fold_case);

  /// Whether `path` (from the work tree's top) is an entry, of whatever type.
  bool tracks(std::string_view path) const;
  /// Whether `path` is an entry that a sparse checkout leaves out.
  bool is_sparse(std::string_view path) const;
  /// What `path` is to the index when it is a folder on disk.
  FolderKind folder(std::string_view path) const;
  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::string name;
    bool submodule;
    bool sparse;
  };
  const Entry* entry(std::string_view path) const;
  std::vector<Entry>::const_iterator find(std::string_view path) const;

  std::vector<Entry> entries_;  ///< by name, each once
  bool fold_case_ = false;      ///< core.ignoreCase: names are kept in lower case (ASCII)
};

}  // namespace gpl::artifact
