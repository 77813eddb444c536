#include "gpl/artifact/link_fate.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace gpl::artifact {
namespace {

constexpr int hop_limit = 40;

const Entry* find(const std::vector<Entry>& entries, std::string_view path) {
  const auto at = std::lower_bound(
      entries.begin(), entries.end(), path,
      [](const Entry& entry, std::string_view wanted) { return entry.path < wanted; });
  return at != entries.end() && at->path == path ? &*at : nullptr;
}

std::string parent(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

}  // namespace

LinkFate link_fate(const std::vector<Entry>& entries, const Entry& link) {
  std::string at = parent(link.path);  // a folder, never a link; empty is the root
  std::string rest = link.link_target;
  bool in_folder = true;
  for (int hops = 0;;) {
    if (rest.starts_with('/')) return LinkFate::outside;
    const std::size_t slash = rest.find('/');
    const std::string name = rest.substr(0, slash);
    rest = slash == std::string::npos
               ? std::string()
               : rest.substr(std::min(rest.find_first_not_of('/', slash), rest.size()));
    if (!in_folder && !name.empty()) return LinkFate::missing;
    if (name == "..") {
      if (at.empty()) return LinkFate::outside;
      at = parent(at);
    } else if (!name.empty() && name != ".") {
      const std::string next = at.empty() ? name : at + "/" + name;
      const Entry* const entry = find(entries, next);
      if (entry == nullptr) return LinkFate::missing;
      if (entry->type == EntryType::symlink) {
        if (++hops > hop_limit) return LinkFate::missing;
        rest = rest.empty() ? entry->link_target : entry->link_target + "/" + rest;
        continue;
      }
      in_folder = entry->type == EntryType::directory;
      at = next;
    }
    if (rest.empty()) return LinkFate::taken;
  }
}

}  // namespace gpl::artifact
