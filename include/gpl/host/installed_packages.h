#pragma once

#include <string>
#include <vector>

#include "gpl/host/site_packages.h"
#include "gpl/host/system_root.h"

namespace gpl::host {

/// What Python finds along sys.path.
struct InstalledPackages {
  std::vector<Distribution> distributions;  ///< in the order of sys.path
  std::vector<std::string> problems;        ///< for people
};

/// Reads the folders `sites` and, after each, those that its .pth files add, each folder once. As
/// in Python, the .pth files of added folders are not followed. At most 128 folders.
InstalledPackages read_installed_packages(const SystemRoot& root,
                                          const std::vector<std::string>& sites);

}  // namespace gpl::host
