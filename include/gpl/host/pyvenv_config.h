#pragma once

#include <string>
#include <string_view>

namespace gpl::host {

/// What a virtual environment's pyvenv.cfg says (PEP 405; virtualenv and uv write it too).
struct PyvenvConfig {
  std::string home;              ///< the folder of the interpreter that it was made from
  std::string version;           ///< "3.11.2"; "" unknown
  bool system_packages = false;  ///< the base installation's packages count as well
  friend bool operator==(const PyvenvConfig&, const PyvenvConfig&) = default;
};

/// Lines of `key = value`, keys in any case; what is no such line says nothing.
PyvenvConfig parse_pyvenv_config(std::string_view text);

/// The numbers at the front of a Python version, two or three of them: "3.11.2" of
/// "3.11.2.final.0"; "" when there are fewer than two.
std::string python_version_numbers(std::string_view text);

}  // namespace gpl::host
