#include "gpl/host/drm.h"

#include <algorithm>

#include "gpl/core/ascii.h"
#include "gpl/host/nvidia_query.h"
#include "gpl/host/sysfs.h"

namespace gpl::host {
namespace {

// "card0", not "card0-HDMI-A-1".
bool is_card(std::string_view name) {
  return name.starts_with("card") && name.size() > 4 &&
         std::all_of(name.begin() + 4, name.end(), is_digit);
}

}  // namespace

std::vector<DrmCard> drm_cards(const SystemRoot& root, std::uint64_t vendor) {
  std::vector<DrmCard> cards;
  for (const std::string& name : sysfs_names(root, "/sys/class/drm")) {
    if (!is_card(name)) continue;
    DrmCard card;
    card.folder = "/sys/class/drm/" + name;
    if (sysfs_number(root, card.folder + "/device/vendor") != vendor) continue;
    const std::string uevent = sysfs_text(root, card.folder + "/device/uevent").value_or("");
    card.pci = normalised_pci_address(uevent_value(uevent, "PCI_SLOT_NAME"));
    card.pci_id = uevent_value(uevent, "PCI_ID");
    card.kernel_driver = uevent_value(uevent, "DRIVER");
    for (const std::string& node : sysfs_names(root, card.folder + "/device/drm")) {
      if (node.starts_with("renderD")) card.render_node = "/dev/dri/" + node;
    }
    cards.push_back(std::move(card));
  }
  return cards;
}

std::string kernel_driver_version(const SystemRoot& root, const std::string& module) {
  const std::string own = sysfs_word(root, "/sys/module/" + module + "/version");
  return own.empty() ? sysfs_word(root, "/proc/sys/kernel/osrelease") : own;
}

std::string node_problem(const SystemRoot& root, const std::string& node) {
  const Status usable = may_use(root, node);
  if (usable.ok()) return "";
  const bool denied = usable.error().code == Code::denied;
  return usable.error().message +
         (denied ? " (the user must be in the group that owns it, render or video)" : "");
}

}  // namespace gpl::host
