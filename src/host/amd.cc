#include "gpl/host/amd.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "gpl/core/ascii.h"
#include "gpl/host/drm.h"
#include "gpl/host/sysfs.h"
#include "gpl/host/text_lines.h"

namespace gpl::host {
namespace {

constexpr const char* nodes_folder = "/sys/class/kfd/kfd/topology/nodes";

std::string pci_of(const KfdProperties& node) {
  char text[40];
  std::snprintf(text, sizeof text, "%04llx:%02llx:%02llx.%llx",
                static_cast<unsigned long long>(node.domain & 0xffffffffU),
                static_cast<unsigned long long>(node.location >> 8 & 0xffU),
                static_cast<unsigned long long>(node.location >> 3 & 0x1fU),
                static_cast<unsigned long long>(node.location & 7U));
  return text;
}

// As rocminfo and ROCR_VISIBLE_DEVICES write it.
std::string uuid_of(const KfdProperties& node) {
  if (node.unique_id == 0) return "";
  char text[24];
  std::snprintf(text, sizeof text, "GPU-%016llx", static_cast<unsigned long long>(node.unique_id));
  return text;
}

// The frame buffer's banks: HSA heap types 1 (seen by the host) and 2 (not).
std::optional<std::uint64_t> bank_bytes(const SystemRoot& root, const std::string& node) {
  std::uint64_t sum = 0;
  for (const std::string& bank : sysfs_names(root, node + "/mem_banks")) {
    const std::string text =
        sysfs_text(root, node + "/mem_banks/" + bank + "/properties").value_or("");
    std::uint64_t heap = 0;
    std::uint64_t size = 0;
    for (const std::string_view line : lines_with_text(text)) {
      const std::size_t blank = line.find(' ');
      if (blank == std::string_view::npos) continue;
      const std::uint64_t value = parse_number(trimmed(line.substr(blank))).value_or(0);
      if (line.substr(0, blank) == "heap_type") heap = value;
      if (line.substr(0, blank) == "size_in_bytes") size = value;
    }
    if (heap == 1 || heap == 2) sum += size;
  }
  return sum == 0 ? std::nullopt : std::optional<std::uint64_t>(sum);
}

void fill_from_drm(const SystemRoot& root, const std::string& device, Accelerator& card) {
  const std::optional<std::uint64_t> total = sysfs_number(root, device + "/mem_info_vram_total");
  if (total && *total > 0) card.memory_bytes = total;
  card.memory_used_bytes = sysfs_number(root, device + "/mem_info_vram_used");
  if (const std::string name = sysfs_word(root, device + "/product_name"); !name.empty())
    card.name = name;
}

Accelerator make_card(const SystemRoot& root, int index) {
  Accelerator card;
  card.kind = AcceleratorKind::rocm;
  card.vendor = "amd";
  card.index = index;
  card.id = "rocm:" + std::to_string(index);
  card.driver = kernel_driver_version(root, "amdgpu");
  return card;
}

Accelerator from_kfd(const SystemRoot& root, const std::string& node, const KfdProperties& told,
                     int index) {
  Accelerator card = make_card(root, index);
  const std::string gfx = gfx_name(told.gfx_target);
  card.name = gfx.empty() ? "AMD GPU" : "AMD " + gfx;
  card.uuid = uuid_of(told);
  card.pci = pci_of(told);
  card.unified_memory = told.cpu_cores > 0;
  card.memory_bytes = bank_bytes(root, node);
  const std::string render = "renderD" + std::to_string(told.render_minor);
  fill_from_drm(root, "/sys/class/drm/" + render + "/device", card);
  for (const std::string& path : {std::string("/dev/kfd"), "/dev/dri/" + render}) {
    if (std::string why = node_problem(root, path); !why.empty()) card.problems.push_back(why);
  }
  card.usable = card.problems.empty();
  return card;
}

Accelerator without_kfd(const SystemRoot& root, const DrmCard& drm, int index) {
  Accelerator card = make_card(root, index);
  card.name = drm.pci_id.empty() ? "AMD GPU" : "AMD GPU " + to_lower(drm.pci_id);
  card.pci = drm.pci;
  fill_from_drm(root, drm.folder + "/device", card);
  card.problems.push_back(
      sysfs_names(root, nodes_folder).empty()
          ? "the kernel has no compute driver for it: " + std::string(nodes_folder) + " is empty"
          : "the kernel's compute driver (KFD) does not offer it");
  return card;
}

}  // namespace

KfdProperties parse_kfd_properties(std::string_view text) {
  KfdProperties node;
  const std::array<std::pair<std::string_view, std::uint64_t*>, 8> fields = {{
      {"cpu_cores_count", &node.cpu_cores},
      {"simd_count", &node.simds},
      {"vendor_id", &node.vendor},
      {"gfx_target_version", &node.gfx_target},
      {"location_id", &node.location},
      {"domain", &node.domain},
      {"drm_render_minor", &node.render_minor},
      {"unique_id", &node.unique_id},
  }};
  for (const std::string_view line : lines_with_text(text)) {
    const std::size_t blank = line.find(' ');
    if (blank == std::string_view::npos) continue;
    for (const auto& [name, value] : fields) {
      if (line.substr(0, blank) != name) continue;
      *value = parse_number(trimmed(line.substr(blank))).value_or(0);
    }
  }
  return node;
}

std::string gfx_name(std::uint64_t gfx_target) {
  if (gfx_target == 0) return "";
  char text[48];
  std::snprintf(text, sizeof text, "gfx%llu%llx%llx",
                static_cast<unsigned long long>(gfx_target / 10000),
                static_cast<unsigned long long>(gfx_target / 100 % 100),
                static_cast<unsigned long long>(gfx_target % 100));
  return text;
}

DeviceFindings find_amd(const SystemRoot& root) {
  DeviceFindings found;
  for (const std::string& name : sysfs_names(root, nodes_folder)) {
    const std::string node = std::string(nodes_folder) + "/" + name;
    // A container's device rules make nodes unreadable; ROCr leaves these out as well.
    const std::optional<std::string> text = sysfs_text(root, node + "/properties");
    if (!text) continue;
    const KfdProperties told = parse_kfd_properties(*text);
    if (told.simds == 0 || told.vendor != amd_pci_vendor) continue;
    const int index = static_cast<int>(found.accelerators.size());
    found.accelerators.push_back(from_kfd(root, node, told, index));
  }
  const std::vector<Accelerator> offered = found.accelerators;
  for (const DrmCard& drm : drm_cards(root, amd_pci_vendor)) {
    const bool known = std::any_of(offered.begin(), offered.end(),
                                   [&](const Accelerator& card) { return card.pci == drm.pci; });
    if (known) continue;
    const int index = static_cast<int>(found.accelerators.size());
    found.accelerators.push_back(without_kfd(root, drm, index));
  }
  return found;
}

}  // namespace gpl::host
