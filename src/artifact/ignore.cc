#include "gpl/artifact/ignore.h"

#include <algorithm>

#include "gpl/core/ascii.h"

namespace gpl::artifact {
namespace {

constexpr std::string_view wildcards = "*?[\\";

bool same(std::string_view a, std::string_view b, bool fold_case) {
  if (!fold_case) return a == b;
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) {
           return to_lower(x) == to_lower(y);
         });
}

/// Trailing blanks go, unless a backslash stands before them; a lone backslash at the end keeps
/// them all.
std::string_view without_trailing_blanks(std::string_view line) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == ' ') continue;
    if (line[i] == '\\' && ++i == line.size()) return line;
    end = i + 1;
  }
  return line.substr(0, end);
}

}  // namespace

IgnoreList IgnoreList::parse(std::string_view text, bool fold_case) {
  IgnoreList list;
  list.fold_case_ = fold_case;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line[0] == '#') continue;
    if (line.back() == '\r') line.remove_suffix(1);
    // git's lines are C strings.
    line = without_trailing_blanks(line.substr(0, line.find('\0')));
    Rule rule = read_rule(line, fold_case);
    if (rule.shape != Shape::name || !rule.literal.empty()) list.rules_.push_back(std::move(rule));
  }
  return list;
}

IgnoreList::Rule IgnoreList::read_rule(std::string_view line, bool fold_case) {
  const bool negated = line.starts_with('!');
  if (negated) line.remove_prefix(1);
  const bool folders_only = line.ends_with('/');
  if (folders_only) line.remove_suffix(1);
  const bool by_name = line.find('/') == std::string_view::npos;
  const std::size_t special = line.find_first_of(wildcards);
  if (by_name) {
    if (special == std::string_view::npos)
      return {Shape::name, negated, folders_only, std::string(line), Glob("")};
    if (special == 0 && line[0] == '*' &&
        line.find_first_of(wildcards, 1) == std::string_view::npos)
      return {Shape::name_suffix, negated, folders_only, std::string(line.substr(1)), Glob("")};
    return {Shape::name_glob, negated, folders_only, {}, Glob(line, fold_case)};
  }
  if (line.starts_with('/')) line.remove_prefix(1);
  // The glob begins at the first wildcard, as in git, for which "a/b**/c" is thus not "a/b*/c".
  const std::size_t literal = std::min(line.find_first_of(wildcards), line.size());
  return {Shape::path, negated, folders_only, std::string(line.substr(0, literal)),
          Glob(line.substr(literal), fold_case)};
}

bool IgnoreList::matches(const Rule& rule, std::string_view path, std::string_view name) const {
  switch (rule.shape) {
    case Shape::name:
      return same(rule.literal, name, fold_case_);
    case Shape::name_suffix:
      return name.size() >= rule.literal.size() &&
             same(rule.literal, name.substr(name.size() - rule.literal.size()), fold_case_);
    case Shape::name_glob:
      return rule.glob.matches(name);
    case Shape::path:
      return path.size() >= rule.literal.size() &&
             same(rule.literal, path.substr(0, rule.literal.size()), fold_case_) &&
             rule.glob.matches(path.substr(rule.literal.size()));
  }
  return false;
}

std::optional<IgnoreVerdict> IgnoreList::verdict(std::string_view path, bool is_folder) const {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  for (auto rule = rules_.rbegin(); rule != rules_.rend(); ++rule) {
    if (rule->folders_only && !is_folder) continue;
    if (matches(*rule, path, name))
      return rule->negated ? IgnoreVerdict::include : IgnoreVerdict::exclude;
  }
  return std::nullopt;
}

}  // namespace gpl::artifact
