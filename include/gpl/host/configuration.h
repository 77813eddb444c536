#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpl/core/lending_hours.h"
#include "gpl/core/requirement.h"
#include "gpl/core/result.h"

namespace gpl::host {

/// What the owner lets others have of this machine. What is not said is lent whole.
struct Lending {
  /// Ids ("cuda:0") and kinds ("rocm"). Nothing: all; empty: none.
  std::optional<std::vector<std::string>> devices;
  std::optional<int> cpus;                    ///< from 0
  std::optional<std::uint64_t> memory_bytes;  ///< from 1
  LendingHours hours;
  std::vector<Label> labels;  ///< by key, which are unlike
  friend bool operator==(const Lending&, const Lending&) = default;
};

/// All labels together: they travel with every report of the machine.
inline constexpr std::size_t most_label_bytes = 4096;

/// How this machine finds its cluster, and is found. Addresses are as the owner wrote them: net
/// reads them.
struct Meeting {
  std::vector<std::string> peers;  ///< HOST:PORT of some of the cluster
  std::string listen;              ///< ADDR:PORT; empty: not said
  bool mdns = true;                ///< look on the local network, and be seen there
  friend bool operator==(const Meeting&, const Meeting&) = default;
};

/// What gpl.toml(5) sets. A default-made one is that of a machine without the file.
struct Configuration {
  /// Globs of the caller's environment variables that every job gets, see `matches`.
  std::vector<std::string> forward_env;
  /// Roots of Python environments that are looked at besides those found where they usually are.
  std::vector<std::string> environments;
  Lending lending;
  Meeting meeting;
  friend bool operator==(const Configuration&, const Configuration&) = default;
};

/// Reads gpl.toml. A missing file is the default; one that cannot be read, is not TOML, or has a
/// key that is unknown or wrong is an error with the file and, where there is one, the line. A key
/// that a later version has is Code::unsupported.
Result<Configuration> read_configuration(const std::filesystem::path& path);

/// What follows --offer, and the configuration's `devices`: `all`, `none`, or ids and kinds of
/// devices with commas between, as in Lending. Code::invalid for what can be no device's name.
Result<std::optional<std::vector<std::string>>> parse_lent_devices(std::string_view text);

/// Whether a glob matches the whole name: `*` is any run of characters, `?` any one byte, all else
/// itself.
bool matches(std::string_view glob, std::string_view name);

}  // namespace gpl::host
