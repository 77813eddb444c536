#include "gpl/artifact/git_index.h"

#include <fcntl.h>

#include <algorithm>
#include <variant>

#include "gpl/artifact/ewah_bitmap.h"
#include "gpl/artifact/file_text.h"
#include "gpl/core/ascii.h"

namespace gpl::artifact {
namespace {

constexpr std::size_t index_limit_bytes = std::size_t{2} << 30U;
constexpr std::uint32_t type_bits = 0170000;
constexpr std::uint32_t gitlink = 0160000;

struct Named {
  std::string_view name;
  std::uint32_t mode;
  bool sparse;
};

/// The shared entries as the split index changes them, then its own new ones.
Result<std::vector<Named>> merge(const GitIndexFile& file, const GitIndexFile& shared) {
  const std::size_t count = shared.entries().size();
  std::string_view bitmaps = file.link()->bitmaps;
  std::vector<bool> deleted(count);
  std::vector<bool> replaced(count);
  if (!bitmaps.empty()) {
    auto first = read_ewah_bitmap(bitmaps, count);
    auto second = first ? read_ewah_bitmap(bitmaps, count) : std::nullopt;
    if (!second || !bitmaps.empty())
      return Error{Code::invalid, "its link to the shared index cannot be read"};
    deleted = std::move(*first);
    replaced = std::move(*second);
  }
  std::vector<Named> all;
  all.reserve(count + file.entries().size());
  auto own = file.entries().begin();
  for (std::size_t i = 0; i < count; ++i) {
    const auto& entry = shared.entries()[i];
    Named named{shared.name(entry), entry.mode, entry.skip_worktree};
    if (replaced[i]) {
      if (own == file.entries().end() || own->name_size != 0 || deleted[i])
        return Error{Code::invalid, "it does not fit its shared index"};
      named.mode = own->mode;
      named.sparse = own->skip_worktree;
      ++own;
    }
    if (!deleted[i]) all.push_back(named);
  }
  for (; own != file.entries().end(); ++own)
    all.push_back({file.name(*own), own->mode, own->skip_worktree});
  return all;
}

Result<GitIndexFile> read_index_file(const std::string& path, std::size_t hash_bytes,
                                     bool may_be_missing) {
  const auto text = read_file_text(AT_FDCWD, path.c_str(), index_limit_bytes, true);
  const auto* none = std::get_if<NoText>(&text);
  if (none != nullptr && none->why == NoText::Why::missing && may_be_missing) return GitIndexFile{};
  if (none != nullptr) return Error{Code::io, "git index " + path + " " + describe(*none)};
  auto file = GitIndexFile::parse(std::get<std::string>(text), hash_bytes);
  if (file) return file;
  const bool is_damaged = file.error().code == Code::invalid;
  return Error{file.error().code,
               "git index " + path + (is_damaged ? " is damaged: " : " cannot be used: ") +
                   file.error().message +
                   (is_damaged ? ". If git status fails too, remove it and run git reset" : "")};
}

}  // namespace

Result<GitIndex> GitIndex::read(const std::string& git_dir, std::size_t hash_bytes,
                                bool fold_case) {
  const std::string path = git_dir + "/index";
  auto file = read_index_file(path, hash_bytes, true);
  if (!file) return file.error();
  GitIndexFile shared;
  if (file.value().link()) {
    auto read =
        read_index_file(git_dir + "/" + file.value().link()->shared_name, hash_bytes, false);
    if (!read) return read.error();
    shared = std::move(read).value();
  }
  auto index = combine(file.value(), &shared, fold_case);
  if (index) return index;
  return Error{index.error().code, "git index " + path + " is damaged: " + index.error().message +
                                       ". If git status fails too, remove it and run git reset"};
}

Result<GitIndex> GitIndex::combine(const GitIndexFile& file, const GitIndexFile* shared,
                                   bool fold_case) {
  std::vector<Named> all;
  if (file.link()) {
    if (shared == nullptr || shared->link())
      return Error{Code::invalid, "its shared index has a link itself"};
    auto merged = merge(file, *shared);
    if (!merged) return merged.error();
    all = std::move(merged).value();
  } else {
    for (const auto& entry : file.entries())
      all.push_back({file.name(entry), entry.mode, entry.skip_worktree});
  }
  GitIndex index;
  index.fold_case_ = fold_case;
  index.entries_.reserve(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& [name, mode, sparse] = all[i];
    if (name.empty())
      return Error{Code::invalid, "entry " + std::to_string(i + 1) + " has no name"};
    index.entries_.push_back(
        {fold_case ? to_lower(name) : std::string(name), (mode & type_bits) == gitlink, sparse});
  }
  // Stages of an unmerged path are one entry here, and so are names that differ only in case. git
  // writes an index in order, but reads one that is not (its own split sparse ones can be).
  const auto by_name = [](const Entry& a, const Entry& b) { return a.name < b.name; };
  if (!std::is_sorted(index.entries_.begin(), index.entries_.end(), by_name))
    std::stable_sort(index.entries_.begin(), index.entries_.end(), by_name);
  const auto same_name = [](const Entry& a, const Entry& b) { return a.name == b.name; };
  index.entries_.erase(std::unique(index.entries_.begin(), index.entries_.end(), same_name),
                       index.entries_.end());
  return index;
}

std::vector<GitIndex::Entry>::const_iterator GitIndex::find(std::string_view path) const {
  return std::lower_bound(
      entries_.begin(), entries_.end(), path,
      [](const Entry& entry, std::string_view wanted) { return entry.name < wanted; });
}

const GitIndex::Entry* GitIndex::entry(std::string_view path) const {
  const std::string key = fold_case_ ? to_lower(path) : std::string();
  const std::string_view wanted = fold_case_ ? std::string_view(key) : path;
  const auto at = find(wanted);
  return at != entries_.end() && at->name == wanted ? &*at : nullptr;
}

bool GitIndex::tracks(std::string_view path) const { return entry(path) != nullptr; }

bool GitIndex::is_sparse(std::string_view path) const {
  const Entry* const held = entry(path);
  return held != nullptr && held->sparse;
}

GitIndex::FolderKind GitIndex::folder(std::string_view path) const {
  const std::string key = fold_case_ ? to_lower(path) : std::string(path);
  const auto at = find(key);
  if (at != entries_.end() && at->name == key && at->submodule) return FolderKind::submodule;
  const std::string inside = key + "/";
  const auto first = find(inside);
  return first != entries_.end() && first->name.starts_with(inside) ? FolderKind::tracked
                                                                    : FolderKind::none;
}

}  // namespace gpl::artifact
