#include "gpl/host/pyvenv_config.h"

#include "gpl/core/ascii.h"

namespace gpl::host {

PyvenvConfig parse_pyvenv_config(std::string_view text) {
  PyvenvConfig config;
  while (!text.empty()) {
    const std::size_t end = text.find_first_of("\r\n");
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const std::size_t sign = line.find('=');
    if (sign == std::string_view::npos) continue;
    const std::string key = to_lower(trimmed(line.substr(0, sign)));
    const std::string_view value = trimmed(line.substr(sign + 1));
    if (key == "home" && value.find('\0') == std::string_view::npos) config.home = value;
    if (key == "include-system-site-packages") config.system_packages = to_lower(value) == "true";
    if (key == "version" || (key == "version_info" && config.version.empty())) {
      config.version = python_version_numbers(value);
    }
  }
  return config;
}

std::string python_version_numbers(std::string_view text) {
  constexpr std::size_t longest_number = 6;
  std::size_t at = 0;
  std::size_t end = 0;
  int count = 0;
  while (count < 3) {
    const std::size_t begin = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    if (at == begin || at - begin > longest_number) break;
    ++count;
    end = at;
    if (at >= text.size() || text[at] != '.') break;
    ++at;
  }
  return count < 2 ? "" : std::string(text.substr(0, end));
}

}  // namespace gpl::host
