#include "gpl/host/power.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "gpl/host/sysfs.h"

namespace gpl::host {
namespace {

constexpr std::size_t most_route_bytes = std::size_t{1} << 20;
constexpr std::uint64_t route_up = 1;  // RTF_UP

std::vector<std::vector<std::string>> table(const SystemRoot& root, const std::string& path) {
  std::istringstream lines(root.read(path, most_route_bytes).value_or(""));
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::vector<std::string>& row = rows.emplace_back();
    for (std::string word; words >> word;) row.push_back(word);
  }
  return rows;
}

/// The routes of the kernel as it lists them, and where in a line what stands.
struct RouteTable {
  const char* path;
  std::size_t columns;
  std::size_t interface;
  std::size_t destination;
  std::size_t length;  ///< of the prefix, or its mask
  std::size_t flags;
  std::size_t metric;
  int metric_base;
};
constexpr RouteTable route_v4 = {"/proc/net/route", 11, 0, 1, 7, 3, 6, 10};
constexpr RouteTable route_v6 = {"/proc/net/ipv6_route", 10, 9, 0, 1, 8, 5, 16};

bool is_zero(const std::string& digits) {
  return digits.find_first_not_of('0') == std::string::npos;
}

std::optional<std::string> default_interface(const SystemRoot& root, const RouteTable& form) {
  std::optional<std::string> best;
  std::uint64_t best_metric = std::numeric_limits<std::uint64_t>::max();
  for (const std::vector<std::string>& row : table(root, form.path)) {
    if (row.size() < form.columns || row[form.interface] == "lo") continue;
    if (!is_zero(row[form.destination]) || !is_zero(row[form.length])) continue;
    const std::optional<std::uint64_t> flags = parse_number("0x" + row[form.flags]);
    const std::string prefix = form.metric_base == 16 ? "0x" : "";
    const std::optional<std::uint64_t> metric = parse_number(prefix + row[form.metric]);
    if (!flags || (*flags & route_up) == 0 || !metric || *metric >= best_metric) continue;
    best = row[form.interface];
    best_metric = *metric;
  }
  return best;
}

}  // namespace

bool has_battery(const SystemRoot& root) {
  const std::string folder = "/sys/class/power_supply";
  for (const std::string& name : sysfs_names(root, folder)) {
    const std::string supply = folder + "/" + name;
    if (sysfs_word(root, supply + "/type") == "Battery" &&
        sysfs_word(root, supply + "/scope") != "Device")
      return true;
  }
  return false;
}

bool is_wireless(const SystemRoot& root) {
  std::optional<std::string> interface = default_interface(root, route_v4);
  if (!interface) interface = default_interface(root, route_v6);
  if (!interface || interface->find('/') != std::string::npos) return false;
  const std::string device = "/sys/class/net/" + *interface;
  return root.exists(device + "/wireless") || root.exists(device + "/phy80211");
}

}  // namespace gpl::host
