#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "gpl/artifact/collector.h"
#include "gpl/artifact/git_index.h"
#include "gpl/artifact/git_repository.h"
#include "gpl/artifact/ignore.h"

namespace gpl::artifact {

/// The ignore files of one name on the way from a topmost folder down to where a walk stands. Paths
/// are the walk's: each list is applied to what of the path lies below the folder that holds it.
class IgnoreStack {
 public:
  void push(std::size_t base, IgnoreList list) { levels_.push_back({base, std::move(list)}); }
  void shrink(std::size_t size) { levels_.resize(size); }
  std::size_t size() const { return levels_.size(); }
  std::optional<IgnoreVerdict> verdict(std::string_view path, bool is_folder) const;

 private:
  struct Level {
    std::size_t base = 0;  ///< where in the path its folder's names begin
    IgnoreList list;
  };
  std::vector<Level> levels_;
};

/// What git knows of one work tree: its index and its rules. Outside of any there are .gitignore
/// files alone, and nothing is tracked.
class TreeRules {
 public:
  /// `base`: where in the walk's paths those of this tree begin.
  explicit TreeRules(std::size_t base) : base_(base) {}
  /// Reads the repository's index and the ignore files beside the work tree; notes of those that
  /// cannot be read.
  static Result<TreeRules> read(const GitRepository& repository, std::size_t base,
                                Collector& collector);

  bool excludes(std::string_view path, bool is_folder) const;
  bool tracks(std::string_view path) const { return index_.tracks(path.substr(base_)); }
  bool is_sparse(std::string_view path) const { return index_.is_sparse(path.substr(base_)); }
  GitIndex::FolderKind folder(std::string_view path) const {
    return index_.folder(path.substr(base_));
  }
  /// Whether a name is `.git`, which no tree takes along.
  bool is_git(std::string_view name) const;
  bool ignore_case() const { return ignore_case_; }

  IgnoreStack gitignores;

 private:
  std::size_t base_;
  bool ignore_case_ = false;
  GitIndex index_;
  IgnoreStack outer_;  ///< core.excludesFile, then info/exclude
};

/// Reads the ignore file `name` of an open folder; a link is not followed. What is wrong with it
/// becomes a note. `path` is the folder's, for notes, "." for the root.
IgnoreList read_ignore_file(int folder, const char* name, bool fold_case, const std::string& path,
                            Collector& collector);

}  // namespace gpl::artifact
