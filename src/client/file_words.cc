#include "file_words.h"

#include <algorithm>

#include "gpl/core/size.h"

namespace gpl::client {
namespace {

constexpr std::size_t max_named = 3;

std::string count(std::size_t number, const char* kind) {
  return std::to_string(number) + " " + kind + (number == 1 ? " file" : " files");
}

}  // namespace

std::string describe_made(const std::vector<artifact::Entry>& made,
                          const std::function<bool(const artifact::Entry&)>& was_staged) {
  const auto changed =
      static_cast<std::size_t>(std::count_if(made.begin(), made.end(), was_staged));
  const std::size_t fresh = made.size() - changed;
  if (changed == 0) return count(fresh, "new");
  if (fresh == 0) return count(changed, "changed");
  return std::to_string(fresh) + " new and " + count(changed, "changed");
}

std::string name_some(const std::vector<artifact::Entry>& files) {
  std::string names;
  const std::size_t named = std::min(files.size(), max_named);
  for (std::size_t i = 0; i < named; ++i) {
    if (i > 0) names += ", ";
    names += files[i].path;
    if (files[i].type == artifact::EntryType::file) {
      names += " " + format_file_size(files[i].size_bytes);
    }
  }
  if (files.size() > named) names += ", and " + std::to_string(files.size() - named) + " more";
  return names;
}

}  // namespace gpl::client
