#include "gpl/host/sysfs.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "gpl/core/ascii.h"
#include "gpl/host/text_lines.h"
#include "gpl/posix/error.h"

namespace gpl::host {
namespace {

constexpr std::size_t max_file_bytes = 65536;

bool by_number(const std::string& a, const std::string& b) {
  const auto split = [](std::string_view name) {
    std::size_t digits = name.size();
    while (digits > 0 && is_digit(name[digits - 1])) --digits;
    return std::pair(name.substr(0, digits), parse_number(name.substr(digits)));
  };
  return std::pair(split(a), a) < std::pair(split(b), b);
}

}  // namespace

std::optional<std::string> sysfs_text(const SystemRoot& root, const std::string& path) {
  return root.read(path, max_file_bytes);
}

std::string sysfs_word(const SystemRoot& root, const std::string& path) {
  const std::optional<std::string> text = sysfs_text(root, path);
  return text ? std::string(trimmed(*text)) : std::string();
}

std::optional<std::uint64_t> sysfs_number(const SystemRoot& root, const std::string& path) {
  return parse_number(sysfs_word(root, path));
}

std::vector<std::string> sysfs_names(const SystemRoot& root, const std::string& folder) {
  std::vector<std::string> names = root.names(folder);
  std::sort(names.begin(), names.end(), by_number);
  return names;
}

Status may_use(const SystemRoot& root, const std::string& node) {
  const std::string path = root.on_disk(node);
  if (::faccessat(AT_FDCWD, path.c_str(), R_OK | W_OK, AT_EACCESS) == 0) return success();
  return posix::io_error(node);
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  if (hexadecimal) text.remove_prefix(2);
  std::uint64_t number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, hexadecimal ? 16 : 10);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string uevent_value(std::string_view text, std::string_view name) {
  for (const std::string_view line : lines_with_text(text)) {
    const std::size_t equals = line.find('=');
    if (equals != std::string_view::npos && line.substr(0, equals) == name) {
      return std::string(line.substr(equals + 1));
    }
  }
  return "";
}

}  // namespace gpl::host
