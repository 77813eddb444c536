// Any bytes as a manifest, from a stranger: what is taken is exactly what it would be encoded to,
// and no path of it leads out of the tree.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "gpl/artifact/manifest.h"

using gpl::artifact::Manifest;
using gpl::artifact::TreeEntry;

namespace {

void look_at(const TreeEntry& entry) {
  const std::string path = "/" + entry.path + "/";
  for (const char* bad : {"//", "/./", "/../"})
    if (path.find(bad) != std::string::npos) std::abort();
  if (path.find('\0') != std::string::npos) std::abort();
}

void try_bytes(std::string_view bytes) {
  const gpl::Result<Manifest> manifest = gpl::artifact::decode_manifest(bytes);
  if (!manifest.ok()) {
    if (manifest.error().message.empty()) std::abort();
    return;
  }
  for (const TreeEntry& entry : manifest.value().entries) look_at(entry);
  const gpl::Result<std::string> again = gpl::artifact::encode_manifest(manifest.value());
  if (!again.ok() || again.value() != bytes) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try_bytes(bytes);
  try_bytes(std::string("gpltree\1").append(bytes));
  return 0;
}
