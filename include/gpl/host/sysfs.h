#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpl/core/result.h"
#include "gpl/host/system_root.h"

namespace gpl::host {

/// Small files of /sys and /proc, a value each. One that is not there, cannot be read or makes no
/// sense is nothing, so that it hides no other. Of a larger one the first 64 KiB are read.
std::optional<std::string> sysfs_text(const SystemRoot& root, const std::string& path);
/// The text, trimmed; "" for none.
std::string sysfs_word(const SystemRoot& root, const std::string& path);
std::optional<std::uint64_t> sysfs_number(const SystemRoot& root, const std::string& path);
/// The names in a folder in the kernel's order: card9 before card10.
std::vector<std::string> sysfs_names(const SystemRoot& root, const std::string& folder);

/// Whether this process may read and write a device node; else the Error says why not.
Status may_use(const SystemRoot& root, const std::string& node);

/// The number that all of `text` is, decimal or hexadecimal after 0x; nothing for what is none or
/// over 64 bits.
std::optional<std::uint64_t> parse_number(std::string_view text);

/// The value after `NAME=` on a line of its own, as in uevent files; "" none.
std::string uevent_value(std::string_view text, std::string_view name);

}  // namespace gpl::host
