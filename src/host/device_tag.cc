#include "gpl/host/device_tag.h"

#include <algorithm>
#include <array>

#include "gpl/core/ascii.h"

namespace gpl::host {
namespace {

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

// 121 is 12.1, 92 is 9.2, 12 is 12: CUDA 8 was the first, so two digits from 80 on are X.Y.
std::string cuda_version(std::string_view digits) {
  if (!all_digits(digits)) return "";
  if (digits.size() == 3 || (digits.size() == 2 && digits >= "80")) {
    return std::string(digits.substr(0, digits.size() - 1)) + "." + digits.back();
  }
  return digits.size() <= 2 ? std::string(digits) : "";
}

// 60 is 6.0, 624 is 6.2.4, 6 is 6.
std::string rocm_version(std::string_view digits) {
  std::string version;
  if (!all_digits(digits) || digits.size() > 3) return version;
  for (const char digit : digits) {
    if (!version.empty()) version += '.';
    version += digit;
  }
  return version;
}

// The segments up to the next dotless word: "6" "0" after rocm are one version.
std::string with_numbers_after(std::string_view first, std::string_view rest) {
  std::string version(first);
  while (!version.empty() && !rest.empty()) {
    const std::size_t end = rest.find('.');
    const std::string_view segment = rest.substr(0, end);
    if (!all_digits(segment)) break;
    version += "." + std::string(segment);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return version;
}

std::optional<DeviceTag> segment_tag(std::string_view segment, std::string_view rest) {
  const auto after = [&](std::string_view word) -> std::optional<std::string_view> {
    if (!segment.starts_with(word)) return std::nullopt;
    return segment.substr(word.size());
  };
  for (const std::string_view word : {"cuda", "cu"}) {
    const auto digits = after(word);
    if (digits && (digits->empty() || all_digits(*digits))) {
      return DeviceTag{AcceleratorKind::cuda, cuda_version(*digits)};
    }
  }
  if (const auto digits = after("rocm")) {
    // "rocm6.0" is written with a dot, "rocm60" without.
    const std::string dotted = with_numbers_after(*digits, rest);
    const bool has_dot = dotted.size() > digits->size() && all_digits(*digits);
    return DeviceTag{AcceleratorKind::rocm, has_dot ? dotted : rocm_version(*digits)};
  }
  if (const auto digits = after("nv"); digits && all_digits(*digits)) {
    return DeviceTag{AcceleratorKind::cuda, ""};
  }
  if (segment == "xpu") return DeviceTag{AcceleratorKind::xpu, ""};
  if (segment == "cpu") return DeviceTag{};
  return std::nullopt;
}

}  // namespace

std::optional<DeviceTag> device_tag_of_local_version(std::string_view local) {
  const std::string lower = to_lower(local);
  std::string_view rest = lower;
  while (!rest.empty()) {
    const std::size_t end = rest.find_first_of(".-_");
    const std::string_view segment = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (std::optional<DeviceTag> tag = segment_tag(segment, rest)) return tag;
  }
  return std::nullopt;
}

std::optional<DeviceTag> device_tag_of_conda_build(std::string_view build) {
  const std::string lower = to_lower(build);
  const std::string_view text = lower;
  struct Word {
    std::string_view word;
    AcceleratorKind kind;
  };
  constexpr std::array words{Word{"cuda", AcceleratorKind::cuda},
                             Word{"rocm", AcceleratorKind::rocm},
                             Word{"xpu", AcceleratorKind::xpu}};
  for (const auto& [word, kind] : words) {
    const std::size_t at = text.find(word);
    if (at == std::string_view::npos) continue;
    std::string_view number = text.substr(at + word.size());
    number = number.substr(0, number.find_first_not_of("0123456789."));
    while (number.ends_with('.')) number.remove_suffix(1);
    if (number.find('.') != std::string_view::npos) return DeviceTag{kind, std::string(number)};
    return DeviceTag{kind,
                     kind == AcceleratorKind::cuda ? cuda_version(number) : rocm_version(number)};
  }
  if (text.find("cpu") != std::string_view::npos) return DeviceTag{};
  return std::nullopt;
}

}  // namespace gpl::host
