#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpl/host/system_root.h"

namespace gpl::host {

/// A package that conda has installed.
struct CondaRecord {
  std::string name;
  std::string version;
  std::string build;  ///< "py3.11_cuda12.1_cudnn8.9.2_0"
  friend bool operator==(const CondaRecord&, const CondaRecord&) = default;
};

/// From the name of its file, NAME-VERSION-BUILD.json: neither version nor build has a dash. Conda
/// calls an environment corrupt when the text within says anything else, so that it need not be
/// read. Nothing when it is no such name.
std::optional<CondaRecord> parse_conda_record(std::string_view file_name);

/// All records of the environment `prefix`; none when conda did not make it.
std::vector<CondaRecord> conda_records(const SystemRoot& root, const std::string& prefix);

}  // namespace gpl::host
