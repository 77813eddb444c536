#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "gpl/core/result.h"

namespace gpl::host {

/// What gpl.toml(5) sets. A default-made one is that of a machine without the file.
struct Configuration {
  /// Globs of the caller's environment variables that every job gets, see `matches`.
  std::vector<std::string> forward_env;
  /// Roots of Python environments that are looked at besides those found where they usually are.
  std::vector<std::string> environments;
  friend bool operator==(const Configuration&, const Configuration&) = default;
};

/// Reads gpl.toml. A missing file is the default; one that cannot be read, is not TOML, or has a
/// key that is unknown or wrong is an error with the file and, where there is one, the line. A key
/// that a later version has is Code::unsupported.
Result<Configuration> read_configuration(const std::filesystem::path& path);

/// Whether a glob matches the whole name: `*` is any run of characters, `?` any one byte, all else
/// itself.
bool matches(std::string_view glob, std::string_view name);

}  // namespace gpl::host
