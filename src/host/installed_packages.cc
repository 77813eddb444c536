#include "gpl/host/installed_packages.h"

#include <optional>
#include <set>
#include <utility>

namespace gpl::host {
namespace {

constexpr std::size_t max_folders = 128;
// A folder of a thousand broken packages has one thing wrong with it, not a thousand.
constexpr std::size_t max_problems = 50;

void take_problems(std::vector<std::string>& problems, std::vector<std::string> more) {
  for (std::string& problem : more) {
    if (problems.size() < max_problems) problems.push_back(std::move(problem));
    if (problems.size() == max_problems) problems.push_back("there are more problems of this kind");
  }
}

}  // namespace

InstalledPackages read_installed_packages(const SystemRoot& root,
                                          const std::vector<std::string>& sites) {
  InstalledPackages packages;
  std::set<std::string> seen;
  const auto is_new = [&](const std::string& folder) {
    const std::optional<std::string> real = root.real_path(folder);
    return real && root.is_folder(*real) && seen.size() < max_folders && seen.insert(*real).second;
  };
  const auto read = [&](const std::string& folder) {
    SitePackages site = read_site_packages(root, folder);
    for (Distribution& distribution : site.distributions) {
      packages.distributions.push_back(std::move(distribution));
    }
    take_problems(packages.problems, std::move(site.problems));
    return std::move(site.added);
  };
  for (const std::string& site : sites) {
    if (!is_new(site)) continue;
    for (const std::string& added : read(site)) {
      // An egg on the path is read where it lies in the folder.
      if (!added.ends_with(".egg") && is_new(added)) read(added);
    }
  }
  return packages;
}

}  // namespace gpl::host
