// What names other folders: .pth and .egg-link files, direct_url.json, and scripts in Python's
// place. Any bytes get an answer, no path has a NUL in it, and the counts are bounded.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "gpl/host/direct_url.h"
#include "gpl/host/path_file.h"
#include "gpl/host/python_shim.h"
#include "gpl/host/site_packages.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

bool has_nul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto folders = gpl::host::pth_folders(text);
  require(folders.size() <= gpl::host::max_path_file_lines);
  for (const auto& folder : folders) {
    require(!folder.empty() && !has_nul(folder) && folder.find('\n') == std::string::npos);
    require(!folder.starts_with("import ") && !folder.starts_with('#'));
  }
  require(!has_nul(gpl::host::egg_link_folder(text)));

  const auto direct = gpl::host::parse_direct_url(text);
  require(direct.folder.empty() || direct.folder.front() == '/');
  require(!has_nul(direct.folder));

  const auto shim = gpl::host::parse_python_shim(text);
  require(shim.has_value() == text.starts_with("#!"));
  if (shim) require(shim->exec_path.empty() || shim->exec_path.front() == '/');

  if (gpl::host::is_entry_of(text, "torch")) require(text.size() >= 5);
  return 0;
}
