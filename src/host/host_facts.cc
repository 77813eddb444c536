#include "gpl/host/host_facts.h"

#include <sched.h>
#include <sys/utsname.h>

#include <algorithm>
#include <string>
#include <vector>

#include "gpl/core/ascii.h"
#include "gpl/host/machine.h"
#include "gpl/host/sysfs.h"
#include "gpl/host/text_lines.h"

namespace gpl::host {
namespace {

int allowed_cpus() {
  // A mask that is too small for the kernel's is an error, so it grows until it fits.
  for (std::size_t bytes = 128; bytes <= std::size_t{1} << 20; bytes *= 2) {
    std::vector<cpu_set_t> mask(bytes / sizeof(cpu_set_t));
    if (::sched_getaffinity(0, bytes, mask.data()) == 0) return CPU_COUNT_S(bytes, mask.data());
  }
  return 1;
}

// The folders of this process's control group and of those above it, the innermost first.
std::vector<std::string> group_folders(const SystemRoot& root) {
  const std::string mount = "/sys/fs/cgroup";
  std::vector<std::string> folders;
  const std::string text = sysfs_text(root, "/proc/self/cgroup").value_or("");
  for (const std::string_view line : lines_with_text(text)) {
    if (!line.starts_with("0::/")) continue;
    std::string path(line.substr(3));
    // Of a namespace that this process has left, the mount shows another part.
    if (path.find("/..") != std::string::npos) path = "/";
    for (; path.size() > 1; path.resize(path.rfind('/'))) folders.push_back(mount + path);
  }
  folders.push_back(mount);  // in a container its own group
  return folders;
}

}  // namespace

std::optional<std::uint64_t> parse_meminfo(std::string_view text) {
  constexpr std::string_view name = "MemTotal:";
  for (std::string_view line : lines_with_text(text)) {
    if (!line.starts_with(name) || !line.ends_with("kB")) continue;
    line.remove_prefix(name.size());
    line.remove_suffix(2);
    const std::optional<std::uint64_t> kibibytes = parse_number(trimmed(line));
    if (kibibytes && *kibibytes < std::uint64_t{1} << 53) return *kibibytes * 1024;
  }
  return std::nullopt;
}

std::optional<int> parse_cpu_quota(std::string_view text) {
  text = trimmed(text);
  const std::size_t blank = text.find(' ');
  if (blank == std::string_view::npos) return std::nullopt;
  const std::optional<std::uint64_t> quota = parse_number(text.substr(0, blank));
  const std::optional<std::uint64_t> period = parse_number(trimmed(text.substr(blank)));
  if (!quota || !period || *quota == 0 || *period == 0) return std::nullopt;
  const std::uint64_t cpus = *quota / *period + (*quota % *period == 0 ? 0 : 1);
  constexpr std::uint64_t more_than_any_machine_has = 1'000'000;
  return static_cast<int>(std::min(cpus, more_than_any_machine_has));
}

HostFacts host_facts(const SystemRoot& root) {
  HostFacts facts;
  facts.name = host_name();
  utsname names = {};
  if (::uname(&names) == 0) {
    facts.os = to_lower(names.sysname);
    facts.arch = names.machine;
    facts.kernel = names.release;
  }
  facts.cpus = allowed_cpus();
  facts.memory_bytes = parse_meminfo(sysfs_text(root, "/proc/meminfo").value_or("")).value_or(0);
  for (const std::string& folder : group_folders(root)) {
    const std::optional<int> quota = parse_cpu_quota(sysfs_word(root, folder + "/cpu.max"));
    if (quota) facts.cpus = std::min(facts.cpus, *quota);
    const std::optional<std::uint64_t> limit =
        sysfs_number(root, folder + "/memory.max");  // or "max"
    if (limit && *limit > 0) facts.memory_bytes = std::min(facts.memory_bytes, *limit);
  }
  return facts;
}

}  // namespace gpl::host
