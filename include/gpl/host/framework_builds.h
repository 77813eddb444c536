#pragma once

#include <map>
#include <string>
#include <vector>

#include "gpl/core/environment.h"
#include "gpl/host/conda_record.h"
#include "gpl/host/site_packages.h"
#include "gpl/host/system_root.h"

namespace gpl::host {

/// The frameworks among `distributions`, which are in the order of sys.path.
///
/// The first folder of sys.path with a distribution of a framework has it; one in a later folder is
/// hidden, and said to be. In one folder, of two entries for one distribution (importlib.metadata
/// takes either, by the file system's order) the one that the framework's own files agree with
/// counts, else the newer version. Of two variants that write into the same folder the one whose
/// name fits the shared objects there counts, else the plain one. All of it with a warning.
///
/// What conda has a record of, and nothing else, counts by that record.
std::map<std::string, FrameworkBuild> framework_builds(
    const SystemRoot& root, const std::vector<Distribution>& distributions,
    const std::vector<CondaRecord>& conda, const std::vector<std::string>& sites);

}  // namespace gpl::host
