#pragma once

#include <string>
#include <vector>

#include "gpl/core/result.h"
#include "gpl/host/python_shim.h"
#include "gpl/host/system_root.h"

namespace gpl::host {

/// One Python installation or virtual environment, as its files show it.
struct PythonInstallation {
  std::string root;                ///< sys.prefix, without links
  std::string python;              ///< its interpreter; "" none there
  std::string version;             ///< "3.11.2", or "3.11" when no file tells more; "" unknown
  std::vector<std::string> sites;  ///< the folders of packages, in the order of sys.path
  bool is_conda = false;
  std::vector<std::string> problems;  ///< for people
};

/// What is at `path`: an installation's folder, an interpreter (scripts in its place are followed),
/// or a plain folder of packages. Packages of the user (~/.local) and of a virtual environment's
/// base count as Python's site module has them; PYTHONPATH does not, as no job inherits it.
/// Code::not_found when there is nothing, or a shim leads on along PATH; Code::unsupported for what
/// is no Python 3; the message is a clause for people.
Result<PythonInstallation> read_python_installation(const SystemRoot& root, const std::string& path,
                                                    const ShimContext& context);

}  // namespace gpl::host
