#include "gpl/host/apple.h"

#include <nlohmann/json.hpp>
#include <string>

#include "gpl/host/sysfs.h"
#include "gpl/host/text_lines.h"

namespace gpl::host {
namespace {

using Json = nlohmann::json;

constexpr const char* profiler = "system_profiler";

std::string string_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// The display adapters that the profiler lists; an empty array for what is no such document.
Json adapters_in(std::string_view text) {
  // It has no exceptions to throw: a document that breaks off is a discarded value.
  const Json document = Json::parse(text.begin(), text.end(), nullptr, false);
  if (!document.is_object()) return Json::array();
  const auto list = document.find("SPDisplaysDataType");
  return list != document.end() && list->is_array() ? *list : Json::array();
}

std::string gpu_name_in(const Json& adapters) {
  for (const Json& adapter : adapters) {
    if (!adapter.is_object()) continue;
    if (string_at(adapter, "spdisplays_vendor") != "sppci_vendor_Apple") continue;
    const std::string model = string_at(adapter, "sppci_model");
    return model.empty() ? string_at(adapter, "_name") : model;
  }
  return "";
}

}  // namespace

std::vector<ProbeRequest> apple_requests(std::int64_t deadline_ms) {
  const std::vector<std::string> environment = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin"};
  return {
      {{{"sysctl", "-n", "hw.memsize", "machdep.cpu.brand_string"}, environment, "/"}, deadline_ms},
      {{{profiler, "SPDisplaysDataType", "-json"}, environment, "/"}, deadline_ms}};
}

DeviceFindings parse_apple(std::string_view sysctl, std::string_view displays_json) {
  DeviceFindings found;
  const std::vector<std::string_view> lines = lines_with_text(sysctl);
  const std::string brand(lines.size() > 1 ? lines[1] : std::string_view());
  const std::string gpu = gpu_name_in(adapters_in(displays_json));
  if (!brand.starts_with("Apple") && gpu.empty()) return found;
  Accelerator device;
  device.kind = AcceleratorKind::mps;
  device.vendor = "apple";
  device.id = "mps:0";
  device.name = gpu.empty() ? brand : gpu;
  device.unified_memory = true;
  if (!lines.empty()) device.memory_bytes = parse_number(lines[0]);
  device.usable = true;
  if (gpu.empty()) {
    found.problems.push_back(
        {profiler, std::nullopt, "it lists no GPU of Apple's: the processor's name is shown"});
  }
  found.accelerators.push_back(std::move(device));
  return found;
}

}  // namespace gpl::host
