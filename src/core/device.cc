#include "gpl/core/device.h"

#include <charconv>

namespace gpl {
namespace {

std::optional<int> parse_small(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && number >= 0 && !text.starts_with('-') ? std::optional<int>(number) : std::nullopt;
}

}  // namespace

std::string_view name_of(AcceleratorKind kind) {
  switch (kind) {
    case AcceleratorKind::cuda:
      return "cuda";
    case AcceleratorKind::rocm:
      return "rocm";
    case AcceleratorKind::mps:
      return "mps";
    case AcceleratorKind::xpu:
      return "xpu";
  }
  return "";
}

std::optional<AcceleratorKind> accelerator_kind(std::string_view word) {
  for (const AcceleratorKind kind :
       {AcceleratorKind::cuda, AcceleratorKind::rocm, AcceleratorKind::mps, AcceleratorKind::xpu}) {
    if (word == name_of(kind)) return kind;
  }
  return std::nullopt;
}

Result<ComputeCapability> parse_compute_capability(std::string_view text) {
  const std::size_t dot = text.find('.');
  const std::optional<int> major = parse_small(text.substr(0, dot));
  const std::optional<int> minor =
      dot == std::string_view::npos ? std::nullopt : parse_small(text.substr(dot + 1));
  if (major && minor) return ComputeCapability{*major, *minor};
  return Error{Code::invalid, "'" + std::string(text) +
                                  "' is not a compute capability: write MAJOR.MINOR, as 8.9"};
}

std::string to_string(ComputeCapability capability) {
  return std::to_string(capability.major_number) + "." + std::to_string(capability.minor_number);
}

}  // namespace gpl
