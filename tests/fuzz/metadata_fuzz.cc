// METADATA, PKG-INFO and WHEEL headers: any bytes get an answer, reading in steps gives no field
// that the whole text does not have, and what is taken is fit to be shown.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "gpl/host/conda_record.h"
#include "gpl/host/device_tag.h"
#include "gpl/host/package_metadata.h"
#include "gpl/host/pyvenv_config.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

void check_steps(std::string_view text, const gpl::host::MetadataHeaders& whole) {
  const auto half = gpl::host::parse_metadata_headers(text.substr(0, text.size() / 2), false);
  require(half.fields.size() <= whole.fields.size());
  // The last one may still be folded further.
  for (std::size_t i = 0; i + 1 < half.fields.size(); ++i) {
    require(half.fields[i] == whole.fields[i]);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto headers = gpl::host::parse_metadata_headers(text);
  require(headers.complete);
  for (const auto& [name, value] : headers.fields) require(!name.empty() && is_printable(name));
  check_steps(text, headers);
  const auto metadata = gpl::host::package_metadata(headers);
  if (metadata.ok()) {
    require(is_printable(metadata.value().name) && !metadata.value().name.empty());
    require(is_printable(metadata.value().version) && !metadata.value().version.empty());
  } else {
    require(is_printable(metadata.error().message));
  }
  const auto record = gpl::host::parse_conda_record(text);
  if (record) require(!record->name.empty() && !record->version.empty());
  gpl::host::device_tag_of_local_version(text);
  gpl::host::device_tag_of_conda_build(text);
  const auto config = gpl::host::parse_pyvenv_config(text);
  require(config.version == gpl::host::python_version_numbers(config.version));
  return 0;
}
