#include "gpl/artifact/rule_walk.h"

#include <fcntl.h>

#include <algorithm>

#include "gpl/core/ascii.h"

namespace gpl::artifact {
namespace {

bool holds(const std::vector<Folder::Name>& names, std::string_view wanted) {
  return std::any_of(names.begin(), names.end(),
                     [&](const auto& name) { return name.name == wanted; });
}

std::size_t names_begin(const std::string& folder) {
  return folder.empty() ? 0 : folder.size() + 1;
}

}  // namespace

std::string RuleWalk::relative() const {
  return path_.size() < root_begin_ || path_.empty() ? "." : path_.substr(root_begin_);
}

Status RuleWalk::run() {
  auto finding = find_repository(root_, home_);
  if (!finding) return finding.error();
  TreeRules rules(0);
  bool tracked_only = false;
  if (const auto* repository = std::get_if<GitRepository>(&finding.value())) {
    auto read = TreeRules::read(*repository, 0, collector_);
    if (!read) return read.error();
    rules = std::move(read).value();
    if (auto entered = enter_parents(*repository, rules, tracked_only); !entered) return entered;
    if (tracked_only)
      collector_.note(
          Note::Kind::rules, ".",
          "is ignored by git, so nothing but tracked files is taken; --stage . takes all");
  } else if (const auto* broken = std::get_if<BrokenGitFile>(&finding.value())) {
    collector_.note(Note::Kind::rules, ".",
                    "is taken by .gitignore files alone: " + broken->message);
  }
  auto folder = Folder::open(AT_FDCWD, root_.c_str());
  if (!folder)
    return Error{folder.error().code, root_ + " cannot be read: " + folder.error().message};
  const auto names = folder.value().names();
  if (!names) return Error{names.error().code, root_ + " cannot be read: " + names.error().message};
  return visit(folder.value(), names.value(), rules, tracked_only);
}

/// Applies the .gitignore files between the work tree's top and the root, and finds out whether the
/// root is ignored.
Status RuleWalk::enter_parents(const GitRepository& repository, TreeRules& rules,
                               bool& tracked_only) {
  std::string_view rest =
      std::string_view(root_).substr(repository.top == "/" ? 0 : repository.top.size());
  std::string folder_path = repository.top;
  while (!rest.empty()) {
    rest.remove_prefix(1);
    if (rest.empty()) break;
    const std::string_view name = rest.substr(0, rest.find('/'));
    rest.remove_prefix(name.size());
    if (!tracked_only) {
      auto folder = Folder::open(AT_FDCWD, folder_path.c_str());
      if (folder)
        rules.gitignores.push(names_begin(path_),
                              read_ignore_file(folder.value().descriptor(), ".gitignore",
                                               rules.ignore_case(), folder_path, collector_));
    }
    if (!path_.empty()) path_ += '/';
    path_ += name;
    if (!folder_path.ends_with('/')) folder_path += '/';
    folder_path += name;
    tracked_only = tracked_only || rules.excludes(path_, true) ||
                   rules.folder(path_) == GitIndex::FolderKind::submodule;
  }
  root_begin_ = names_begin(path_);
  return success();
}

Status RuleWalk::visit(Folder& folder, const Names& names, TreeRules& rules, bool tracked_only) {
  if (ancestors_.size() >= depth_limit)
    return Error{Code::too_large, "folders nest more than " + std::to_string(depth_limit) +
                                      " deep in " + root_ + ", at " + in_quotes(relative()) +
                                      "; leave them out with .gplignore"};
  const std::size_t gitignores = rules.gitignores.size();
  const std::size_t gplignores = gplignores_.size();
  read_ignore_files(folder, names, rules);
  ancestors_.emplace_back(folder.status().st_dev, folder.status().st_ino);
  const std::size_t size = path_.size();
  for (const auto& name : names) {
    if (rules.is_git(name.name)) continue;
    stopped_ = stopped_ || collector_.entries.size() > entry_limit_;
    if (stopped_) break;
    if (size != 0) path_ += '/';
    path_ += name.name;
    auto seen = child(folder, name, rules, tracked_only);
    path_.resize(size);
    if (!seen) return seen;
  }
  ancestors_.pop_back();
  rules.gitignores.shrink(gitignores);
  gplignores_.shrink(gplignores);
  return success();
}

void RuleWalk::read_ignore_files(const Folder& folder, const Names& names, TreeRules& rules) {
  const std::size_t base = names_begin(path_);
  if (holds(names, ".gitignore"))
    rules.gitignores.push(base, read_ignore_file(folder.descriptor(), ".gitignore",
                                                 rules.ignore_case(), relative(), collector_));
  else if (rules.is_sparse(path_.empty() ? ".gitignore" : path_ + "/.gitignore"))
    collector_.note(Note::Kind::rules, relative(),
                    "has a .gitignore that is not checked out (sparse), so it is not applied");
  if (holds(names, ".gplignore"))
    gplignores_.push(
        base, read_ignore_file(folder.descriptor(), ".gplignore", false, relative(), collector_));
}

Status RuleWalk::child(const Folder& parent, const Folder::Name& name, TreeRules& rules,
                       bool tracked_only) {
  if (!elsewhere_.empty() && elsewhere_.contains(relative())) return success();
  const unsigned char type = type_of(parent.descriptor(), name);
  const bool is_folder = type == DT_DIR;
  const auto own = gplignores_.verdict(path_, is_folder);
  if (own == IgnoreVerdict::exclude) return success();
  const auto ignored = [&] {
    return tracked_only || (own != IgnoreVerdict::include && rules.excludes(path_, is_folder));
  };
  if (is_folder) {
    const GitIndex::FolderKind kind = rules.folder(path_);
    const bool is_ignored = ignored();
    if (is_ignored && kind == GitIndex::FolderKind::none) return success();
    return child_folder(parent, name.name, rules, is_ignored, kind);
  }
  if (rules.tracks(path_) || !ignored())
    collector_.add(parent.descriptor(), {name.name, type}, relative());
  return success();
}

Status RuleWalk::child_folder(const Folder& parent, const std::string& name, TreeRules& rules,
                              bool ignored, GitIndex::FolderKind kind) {
  auto folder = Folder::open(parent.descriptor(), name.c_str());
  if (!folder) return collector_.unopened(folder.error(), relative());
  const auto names = folder.value().names();
  if (!names) return collector_.unopened(names.error(), relative());
  if (is_loop(folder.value().status())) {
    collector_.note(Note::Kind::left_out, relative(), "leads back to a folder that holds it");
    return success();
  }
  const std::size_t before = collector_.entries.size();
  const bool own_tree = kind == GitIndex::FolderKind::submodule ||
                        (kind == GitIndex::FolderKind::none && holds(names.value(), ".git"));
  auto visited = own_tree ? visit_own_tree(folder.value(), names.value(), rules, kind)
                          : visit(folder.value(), names.value(), rules, ignored);
  // An ignored folder is there only for the sake of the tracked files in it.
  if (!ignored || kind == GitIndex::FolderKind::submodule || collector_.entries.size() != before)
    collector_.add_folder(folder.value().status(), relative());
  return visited;
}

/// A submodule, or a folder with a `.git`: it has rules of its own when that is a repository.
Status RuleWalk::visit_own_tree(Folder& folder, const Names& names, TreeRules& outer,
                                GitIndex::FolderKind kind) {
  auto finding = open_repository((root_ == "/" ? "/" : root_ + "/") + relative(), home_);
  if (!finding) return finding.error();
  const std::size_t base = names_begin(path_);
  if (const auto* repository = std::get_if<GitRepository>(&finding.value())) {
    auto rules = TreeRules::read(*repository, base, collector_);
    return rules ? visit(folder, names, rules.value(), false) : rules.error();
  }
  const bool submodule = kind == GitIndex::FolderKind::submodule;
  const auto* broken = std::get_if<BrokenGitFile>(&finding.value());
  if (submodule && broken != nullptr)
    collector_.note(Note::Kind::rules, relative(),
                    "is taken by its .gitignore files alone: " + broken->message);
  if (std::holds_alternative<NoWorkTree>(finding.value()) || (submodule && broken != nullptr)) {
    TreeRules rules(base);
    return visit(folder, names, rules, false);
  }
  if (!submodule) return visit(folder, names, outer, false);
  if (!names.empty())
    collector_.note(Note::Kind::left_out, relative(),
                    "is a submodule that is not checked out: what lies in it is left out (git "
                    "submodule update --init)");
  return success();
}

/// A mount can show a folder inside of itself.
bool RuleWalk::is_loop(const struct stat& status) const {
  return std::find(ancestors_.begin(), ancestors_.end(), std::pair(status.st_dev, status.st_ino)) !=
         ancestors_.end();
}

}  // namespace gpl::artifact
