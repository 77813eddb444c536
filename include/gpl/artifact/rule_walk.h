#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpl/artifact/collector.h"
#include "gpl/artifact/tree_rules.h"

namespace gpl::artifact {

/// Folders nest no deeper than this; it guards the stack, descriptors run out about there too.
constexpr std::size_t depth_limit = 1000;

/// The walk that applies the ignore rules: git's, where there is a work tree, and .gplignore's.
class RuleWalk {
 public:
  /// `root` is real and absolute. `elsewhere`: paths relative to it that are passed over, for
  /// another walk takes them. After `entry_limit` entries the walk stops. All arguments must
  /// outlive it.
  RuleWalk(const std::string& root, const GitHome& home, const std::set<std::string>& elsewhere,
           std::size_t entry_limit, Collector& collector)
      : root_(root),
        home_(home),
        elsewhere_(elsewhere),
        entry_limit_(entry_limit),
        collector_(collector) {}

  Status run();
  bool stopped() const { return stopped_; }

 private:
  using Names = std::vector<Folder::Name>;

  Status enter_parents(const GitRepository& repository, TreeRules& rules, bool& tracked_only);
  Status visit(Folder& folder, const Names& names, TreeRules& rules, bool tracked_only);
  void read_ignore_files(const Folder& folder, const Names& names, TreeRules& rules);
  Status child(const Folder& parent, const Folder::Name& name, TreeRules& rules, bool tracked_only);
  Status child_folder(const Folder& parent, const std::string& name, TreeRules& rules, bool ignored,
                      GitIndex::FolderKind kind);
  Status visit_own_tree(Folder& folder, const Names& names, TreeRules& outer,
                        GitIndex::FolderKind kind);
  bool is_loop(const struct stat& status) const;
  std::string relative() const;

  const std::string& root_;
  const GitHome& home_;
  const std::set<std::string>& elsewhere_;
  std::size_t entry_limit_;
  Collector& collector_;

  std::string path_;            ///< of where the walk is, from the work tree's top
  std::size_t root_begin_ = 0;  ///< where in it the names below the root begin
  IgnoreStack gplignores_;
  std::vector<std::pair<dev_t, ino_t>> ancestors_;
  bool stopped_ = false;
};

}  // namespace gpl::artifact
