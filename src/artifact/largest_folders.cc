#include "gpl/artifact/largest_folders.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace gpl::artifact {
namespace {

using Sizes = std::map<std::string, FolderSize, std::less<>>;

Sizes folder_sizes(const std::vector<Entry>& entries) {
  Sizes sizes;
  for (const Entry& entry : entries) {
    if (entry.type == EntryType::directory) continue;
    for (std::size_t slash = entry.path.rfind('/'); slash != std::string::npos && slash != 0;
         slash = entry.path.rfind('/', slash - 1)) {
      const auto folder = std::string_view(entry.path).substr(0, slash);
      auto at = sizes.find(folder);
      if (at == sizes.end())
        at = sizes.emplace(folder, FolderSize{std::string(folder), 0, 0}).first;
      at->second.bytes += entry.disk_bytes;
      at->second.files += 1;
    }
  }
  return sizes;
}

bool is_below(std::string_view path, std::string_view folder) {
  return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

}  // namespace

std::vector<FolderSize> largest_folders(const std::vector<Entry>& entries, std::size_t count,
                                        bool by_files) {
  const Sizes sizes = folder_sizes(entries);
  const auto measure = [&](const FolderSize& size) { return by_files ? size.files : size.bytes; };
  std::vector<const FolderSize*> order;
  for (const auto& [path, size] : sizes) order.push_back(&size);
  // Sizes are in order of paths, so of equals the outer folder comes first.
  std::stable_sort(order.begin(), order.end(),
                   [&](const auto* a, const auto* b) { return measure(*a) > measure(*b); });
  std::vector<FolderSize> largest;
  for (const FolderSize* size : order) {
    if (largest.size() == count || measure(*size) == 0) break;
    const auto one_child_is_most = [&] {
      // The next ones in size that could make nine tenths of it come right behind it.
      for (const FolderSize* other : order)
        if (measure(*other) <= measure(*size) && is_below(other->path, size->path))
          return measure(*other) >= measure(*size) / 10 * 9;
      return false;
    };
    const bool named = std::any_of(largest.begin(), largest.end(), [&](const FolderSize& other) {
      return is_below(size->path, other.path);
    });
    if (!named && !one_child_is_most()) largest.push_back(*size);
  }
  return largest;
}

}  // namespace gpl::artifact
