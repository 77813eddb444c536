#include "gpl/host/intel.h"

#include "gpl/core/ascii.h"
#include "gpl/host/drm.h"
#include "gpl/host/sysfs.h"

namespace gpl::host {

DeviceFindings find_intel(const SystemRoot& root) {
  DeviceFindings found;
  for (const DrmCard& drm : drm_cards(root, intel_pci_vendor)) {
    if (drm.pci.empty() || drm.pci.starts_with("0000:00:02.")) continue;
    Accelerator card;
    card.kind = AcceleratorKind::xpu;
    card.vendor = "intel";
    card.index = static_cast<int>(found.accelerators.size());
    card.id = "xpu:" + std::to_string(card.index);
    card.name = drm.pci_id.empty() ? "Intel GPU" : "Intel GPU " + to_lower(drm.pci_id);
    card.pci = drm.pci;
    card.driver = kernel_driver_version(root, drm.kernel_driver);
    // Only the module that ships outside the kernel says it.
    card.memory_bytes = sysfs_number(root, drm.folder + "/lmem_total_bytes");
    if (drm.render_node.empty()) {
      card.problems.push_back("it has no render node: its driver is not loaded");
    } else if (std::string why = node_problem(root, drm.render_node); !why.empty()) {
      card.problems.push_back(std::move(why));
    }
    card.usable = card.problems.empty();
    found.accelerators.push_back(std::move(card));
  }
  return found;
}

}  // namespace gpl::host
