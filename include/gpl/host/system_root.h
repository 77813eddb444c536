#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace gpl::host {

/// The machine's files, or a folder that stands in for its root in a test. Paths given and returned
/// are absolute and without the stand-in's prefix. Reading never blocks on a pipe or a device.
class SystemRoot {
 public:
  /// "" is the machine itself.
  explicit SystemRoot(std::string prefix = "");

  /// Where `path` lies for the system's calls.
  std::string on_disk(const std::string& path) const { return prefix_ + path; }

  bool is_folder(const std::string& path) const;
  bool is_file(const std::string& path) const;
  bool exists(const std::string& path) const;
  bool is_executable(const std::string& path) const;

  /// What is in a folder, sorted; nothing when it cannot be listed. No more than 100,000 names.
  std::vector<std::string> names(const std::string& path) const;
  /// The first `max_bytes` of a regular file; nothing when it cannot be read.
  std::optional<std::string> read(const std::string& path, std::size_t max_bytes) const;
  /// The path without links; nothing when it is not there or leaves a stand-in root.
  std::optional<std::string> real_path(const std::string& path) const;

 private:
  std::string prefix_;  ///< without links
};

}  // namespace gpl::host
