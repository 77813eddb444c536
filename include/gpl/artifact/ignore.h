#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpl/artifact/glob.h"

namespace gpl::artifact {

/// What a pattern says of a path: leave it out, or (`!`) take it after all.
enum class IgnoreVerdict { exclude, include };

/// The patterns of one ignore file: .gitignore, .gplignore, info/exclude, core.excludesFile;
/// gitignore(5), and byte for byte what git 2.39 makes of it.
///
/// How the files of a tree work together (selection.h applies it):
/// - The last pattern of a file that matches decides, and a deeper file before a shallower one. In
/// a git work tree
///   info/exclude comes after every .gitignore, and core.excludesFile after that.
/// - A folder that is left out takes everything below it along; no pattern for something below
/// brings that back.
/// - .gplignore stands above all of them: whatever it says of a path holds, and only where none of
/// its patterns matches
///   do git's rules decide. So its patterns leave out tracked files too, and its `!` patterns bring
///   back what an earlier .gplignore pattern or a .gitignore left out: `!build/` re-includes an
///   ignored folder with what is in it, as far as no other pattern matches that by itself.
class IgnoreList {
 public:
  /// Every text can be read; what is no pattern never matches. `fold_case` is git's
  /// core.ignoreCase.
  static IgnoreList parse(std::string_view text, bool fold_case = false);

  /// `path` is relative to the folder that holds the file, without a '/' at either end. Nothing
  /// when no pattern matches. Parents of the path are not looked at: ask for them first.
  std::optional<IgnoreVerdict> verdict(std::string_view path, bool is_folder) const;

  bool empty() const { return rules_.empty(); }

 private:
  enum class Shape {
    name,         ///< the last name is `literal`
    name_suffix,  ///< the last name ends in `literal`: *.o
    name_glob,
    path,  ///< the path begins with `literal`, and the glob takes the rest
  };
  struct Rule {
    Shape shape;
    bool negated;
    bool folders_only;
    std::string literal;
    Glob glob;
  };

  static Rule read_rule(std::string_view line, bool fold_case);
  bool matches(const Rule& rule, std::string_view path, std::string_view name) const;

  std::vector<Rule> rules_;
  bool fold_case_ = false;
};

}  // namespace gpl::artifact
