#include "gpl/host/direct_url.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "gpl/core/ascii.h"

namespace gpl::host {
namespace {

std::optional<int> hex_value(char c) {
  if (is_digit(c)) return c - '0';
  const char lower = gpl::to_lower(c);
  if (lower >= 'a' && lower <= 'f') return lower - 'a' + 10;
  return std::nullopt;
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      const std::optional<int> high = hex_value(text[i + 1]);
      const std::optional<int> low = hex_value(text[i + 2]);
      if (high && low) {
        out += static_cast<char>(*high * 16 + *low);
        i += 2;
        continue;
      }
    }
    out += text[i];
  }
  return out;
}

// RFC 8089: file:///path, or file://localhost/path.
std::string file_url_path(std::string_view url) {
  for (const std::string_view scheme : {"file://localhost/", "file:///"}) {
    if (!url.starts_with(scheme)) continue;
    std::string path = percent_decoded(url.substr(scheme.size() - 1));
    return path.find('\0') == std::string::npos ? path : "";
  }
  return "";
}

}  // namespace

DirectUrl parse_direct_url(std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  DirectUrl direct;
  if (!json.is_object()) return direct;
  if (const auto url = json.find("url"); url != json.end() && url->is_string()) {
    direct.folder = file_url_path(url->get_ref<const std::string&>());
  }
  const auto info = json.find("dir_info");
  if (info == json.end() || !info->is_object()) return direct;
  const auto editable = info->find("editable");
  direct.editable = editable != info->end() && editable->is_boolean() && editable->get<bool>();
  return direct;
}

}  // namespace gpl::host
