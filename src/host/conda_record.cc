#include "gpl/host/conda_record.h"

#include <algorithm>

namespace gpl::host {

std::optional<CondaRecord> parse_conda_record(std::string_view file_name) {
  constexpr std::string_view ending = ".json";
  if (!file_name.ends_with(ending)) return std::nullopt;
  file_name.remove_suffix(ending.size());
  const bool printable =
      std::all_of(file_name.begin(), file_name.end(), [](char c) { return c > ' ' && c <= '~'; });
  const std::size_t before_build = file_name.rfind('-');
  if (!printable || before_build == std::string_view::npos || before_build == 0) {
    return std::nullopt;
  }
  const std::size_t before_version = file_name.rfind('-', before_build - 1);
  if (before_version == std::string_view::npos || before_version == 0) return std::nullopt;
  CondaRecord record;
  record.name = file_name.substr(0, before_version);
  record.version = file_name.substr(before_version + 1, before_build - before_version - 1);
  record.build = file_name.substr(before_build + 1);
  if (record.version.empty()) return std::nullopt;
  return record;
}

std::vector<CondaRecord> conda_records(const SystemRoot& root, const std::string& prefix) {
  std::vector<CondaRecord> records;
  for (const std::string& name : root.names(prefix + "/conda-meta")) {
    if (std::optional<CondaRecord> record = parse_conda_record(name)) records.push_back(*record);
  }
  return records;
}

}  // namespace gpl::host
