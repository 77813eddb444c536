#include "gpl/artifact/tree_rules.h"

#include <fcntl.h>

#include "gpl/artifact/file_text.h"
#include "gpl/core/ascii.h"

namespace gpl::artifact {
namespace {

constexpr std::size_t ignore_file_limit_bytes = 64U << 20U;

/// A file of ignore rules beside the work tree. One that is missing or, like /dev/null, no regular
/// file has none.
IgnoreList read_outer_file(const std::string& path, bool fold_case, Collector& collector) {
  const auto text = read_file_text(AT_FDCWD, path.c_str(), ignore_file_limit_bytes, true);
  if (const auto* held = std::get_if<std::string>(&text))
    return IgnoreList::parse(*held, fold_case);
  const NoText& none = std::get<NoText>(text);
  if (none.why == NoText::Why::failed || none.why == NoText::Why::too_large)
    collector.note(Note::Kind::rules, path,
                   describe(none) + ", so its ignore rules are not applied");
  return {};
}

}  // namespace

std::optional<IgnoreVerdict> IgnoreStack::verdict(std::string_view path, bool is_folder) const {
  for (auto level = levels_.rbegin(); level != levels_.rend(); ++level)
    if (const auto verdict = level->list.verdict(path.substr(level->base), is_folder))
      return verdict;
  return std::nullopt;
}

Result<TreeRules> TreeRules::read(const GitRepository& repository, std::size_t base,
                                  Collector& collector) {
  TreeRules rules(base);
  rules.ignore_case_ = repository.ignore_case;
  auto index = GitIndex::read(repository.git_dir, repository.hash_bytes, repository.ignore_case);
  if (!index) return index.error();
  rules.index_ = std::move(index).value();
  if (!repository.excludes_file.empty())
    rules.outer_.push(base,
                      read_outer_file(repository.excludes_file, repository.ignore_case, collector));
  rules.outer_.push(
      base, read_outer_file(repository.info_exclude_file(), repository.ignore_case, collector));
  return rules;
}

bool TreeRules::excludes(std::string_view path, bool is_folder) const {
  auto verdict = gitignores.verdict(path, is_folder);
  if (!verdict) verdict = outer_.verdict(path, is_folder);
  return verdict == IgnoreVerdict::exclude;
}

bool TreeRules::is_git(std::string_view name) const {
  return name == ".git" || (ignore_case_ && name.size() == 4 && to_lower(name) == ".git");
}

IgnoreList read_ignore_file(int folder, const char* name, bool fold_case, const std::string& path,
                            Collector& collector) {
  const auto text = read_file_text(folder, name, ignore_file_limit_bytes, false);
  if (const auto* held = std::get_if<std::string>(&text))
    return IgnoreList::parse(*held, fold_case);
  const NoText& none = std::get<NoText>(text);
  if (none.why != NoText::Why::missing && none.why != NoText::Why::no_file)
    collector.note(Note::Kind::rules, path == "." ? name : path + "/" + name,
                   describe(none) + ", so its ignore rules are not applied");
  return {};
}

}  // namespace gpl::artifact
