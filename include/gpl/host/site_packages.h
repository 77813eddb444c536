#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gpl/host/system_root.h"

namespace gpl::host {

/// One installed distribution, as its metadata says.
struct Distribution {
  std::string name;     ///< PEP 503 normalised
  std::string version;  ///< as written
  std::string site;     ///< the folder of sys.path that it was found in
  std::string record;   ///< its entry there: "torch-2.4.0.dist-info"
  bool editable = false;
  std::string source;          ///< an editable's source folder; "" unknown
  bool read_from_name = false; /**< a zipped egg: only its file name was read */
  friend bool operator==(const Distribution&, const Distribution&) = default;
};

/// What one folder of sys.path holds.
struct SitePackages {
  std::vector<Distribution> distributions;  ///< by the name of their entry
  std::vector<std::string> added;           ///< folders that its .pth files put on sys.path
  std::vector<std::string> problems;        ///< for people
};

/// Reads the metadata headers of every distribution in `folder`: NAME.dist-info, NAME.egg-info (a
/// folder or a file), NAME.egg (a folder; of a zipped one the file name), NAME.egg-link. The Name
/// and Version in the metadata count, not those of the entry, which tools write in many spellings.
/// Whatever cannot be read is a problem and hides nothing else. Leftovers of an interrupted
/// uninstall ("~orch") are no distributions, as for pip; nor is an entry without metadata, which is
/// a problem unless a whole one of that name stands beside it.
///
/// Two of one name are both given: see framework_builds.
SitePackages read_site_packages(const SystemRoot& root, const std::string& folder);

/// Whether an entry's name without its ending ("onnxruntime_gpu-1.17.1") can be that of the
/// distribution `normalised_name`: it is that name, alone or with a version after it.
bool is_entry_of(std::string_view stem, std::string_view normalised_name);

}  // namespace gpl::host
