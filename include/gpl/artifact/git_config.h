#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "gpl/core/result.h"

namespace gpl::artifact {

/// Where a person's git files are. The caller reads the environment; an empty string is "there is
/// none".
struct GitHome {
  std::string home;                              ///< $HOME
  std::string xdg_config_home;                   ///< $XDG_CONFIG_HOME; empty: HOME/.config
  std::string system_config = "/etc/gitconfig";  ///< empty with $GIT_CONFIG_NOSYSTEM
  std::string global_config;  ///< $GIT_CONFIG_GLOBAL, instead of both files of the home
  friend bool operator==(const GitHome&, const GitHome&) = default;
};

/// What git's configuration says about which files are taken.
struct GitConfig {
  std::optional<std::string> excludes_file;  ///< core.excludesFile, `~/` expanded
  bool ignore_case = false;                  ///< core.ignoreCase
  bool bare = false;                         ///< core.bare
  std::optional<std::string> work_tree;      ///< core.worktree, as written
  bool worktree_config = false;              ///< extensions.worktreeConfig
  std::string object_format = "sha1";        ///< extensions.objectFormat
};

/// One variable: `section.key`, or `section.subsection.key`; section and key in lower case. No
/// value: `key` alone.
struct GitConfigVariable {
  std::string name;
  std::optional<std::string> value;
};

/// Reads the text of a git configuration file (git-config(1), "CONFIGURATION FILE") and hands out
/// its variables in order. Error invalid with the line that cannot be read.
Status parse_git_config(std::string_view text,
                        const std::function<Status(const GitConfigVariable&)>& take);

/// Reads configuration files on top of each other; later ones win.
class GitConfigReader {
 public:
  /// `git_dir`: whose path includeIf.gitdir: compares.
  GitConfigReader(const GitHome& home, std::string git_dir)
      : home_(home), git_dir_(std::move(git_dir)) {}

  /// The system's file, then the person's. A file that is missing or may not be read is skipped.
  Status read_person();
  /// One file and what it includes: include.path, and includeIf with `gitdir:` and `gitdir/i:`
  /// (with other conditions, onbranch: and hasconfig:, it is skipped). Includes go 10 deep, as in
  /// git.
  Status read_file(const std::string& path) { return read_file(path, 0); }

  GitConfig config;

 private:
  Status read_file(const std::string& path, int depth);
  Status take(const GitConfigVariable& variable, const std::string& file, int depth);
  std::optional<std::string> expand(const std::string& path, const std::string& file) const;
  bool condition_holds(std::string_view condition, const std::string& file) const;

  const GitHome& home_;
  std::string git_dir_;
};

}  // namespace gpl::artifact
