#pragma once

#include <optional>
#include <string>
#include <variant>

#include "gpl/artifact/git_config.h"
#include "gpl/core/result.h"

namespace gpl::artifact {

/// One git repository with a work tree, as its files say; no git program is asked. All paths are
/// real and absolute.
struct GitRepository {
  std::string top;      ///< the work tree's topmost folder
  std::string git_dir;  ///< holds index and sharedindex.*
  std::string
      common_dir;  ///< holds config and info/exclude: of a linked work tree, its main one's git_dir
  bool ignore_case = false;
  std::size_t hash_bytes = 20;
  std::string excludes_file;  ///< core.excludesFile or its default; empty: none

  std::string index_file() const { return git_dir + "/index"; }
  std::string info_exclude_file() const { return common_dir + "/info/exclude"; }
};

/// There is a `.git` file that leads to no repository: git fails here and looks no further. For a
/// person.
struct BrokenGitFile {
  std::string message;
};
/// There is a repository, but its work tree is not here: it is bare, or core.worktree leads
/// elsewhere.
struct NoWorkTree {};
struct NoRepository {};
using GitFinding = std::variant<NoRepository, NoWorkTree, BrokenGitFile, GitRepository>;

/// The repository whose work tree's top is `folder` (real and absolute), by its own `.git`, folder
/// or file. Error invalid when the configuration cannot be read, unsupported when the object format
/// is not known.
Result<GitFinding> open_repository(const std::string& folder, const GitHome& home);

/// The repository whose work tree holds `folder` (real and absolute): the nearest upwards, on the
/// same file system, as git discovers it without $GIT_DIR. A `.git` that is no repository is passed
/// over; inside of a repository's own folder, or a bare one, there is none.
Result<GitFinding> find_repository(const std::string& folder, const GitHome& home);

}  // namespace gpl::artifact
