#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gpl/core/result.h"
#include "gpl/host/system_root.h"

namespace gpl::host {

/// What a version manager goes by besides its files.
struct ShimContext {
  std::string home;           ///< the user's home folder
  std::string folder;         ///< where the command would run
  std::string pyenv_root;     ///< $PYENV_ROOT; "" not set
  std::string pyenv_version;  ///< $PYENV_VERSION; "" not set
};

/// A program that is a script in an interpreter's place.
struct PythonShim {
  bool is_pyenv = false;
  std::string pyenv_root;  ///< as the script sets it; "" it does not
  std::string exec_path;  ///< of another script: the one Python that it replaces itself by; "" none
  friend bool operator==(const PythonShim&, const PythonShim&) = default;
};

/// Nothing when the text does not begin with #!.
std::optional<PythonShim> parse_python_shim(std::string_view text);

/// The interpreter that the program at `path` leads to, without running it: `path` itself when it
/// is no script; of a pyenv shim that of $PYENV_VERSION, .python-version in the folder or above,
/// or pyenv's version file. Code::not_found when pyenv leaves it to the rest of PATH ("system"),
/// else Code::unsupported with a clause for people.
Result<std::string> resolve_python(const SystemRoot& root, const std::string& path,
                                   const ShimContext& context);

}  // namespace gpl::host
