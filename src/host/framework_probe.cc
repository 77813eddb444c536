#include "gpl/host/framework_probe.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "gpl/core/ascii.h"
#include "gpl/core/version.h"

namespace gpl::host {
namespace {

using Json = nlohmann::json;

constexpr std::string_view answer_mark = "gpl-framework-probe ";

// The current folder is taken off sys.path: a file torch.py in it is not the framework.
constexpr std::string_view before_look = R"(import json, os, sys
sys.path = [p for p in sys.path if p]
def look():
)";

constexpr std::string_view after_look = R"(
answer = {"version": "", "devices": [], "error": ""}
try:
    version, devices = look()
    answer["version"] = str(version)
    answer["devices"] = [
        {"kind": k, "name": n, "memory_bytes": None if m is None else int(m)} for k, n, m in devices]
except BaseException as e:
    answer["error"] = (type(e).__name__ + ": " + str(e))[:2000]
sys.stdout.write("\n" + "gpl-framework-probe " + json.dumps(answer) + "\n")
sys.stdout.flush()
os._exit(0)
)";

constexpr auto probes = std::to_array<FrameworkProbe>({
    {"torch", R"(    import torch
    found = []
    if torch.cuda.is_available():
        kind = "rocm" if getattr(torch.version, "hip", None) else "cuda"
        for i in range(torch.cuda.device_count()):
            p = torch.cuda.get_device_properties(i)
            found.append((kind, p.name, p.total_memory))
    xpu = getattr(torch, "xpu", None)
    if xpu is not None and xpu.is_available():
        for i in range(xpu.device_count()):
            p = xpu.get_device_properties(i)
            found.append(("xpu", p.name, p.total_memory))
    mps = getattr(torch.backends, "mps", None)
    if mps is not None and mps.is_available():
        found.append(("mps", "Apple", None))
    return torch.__version__, found
)"},
    {"jax", R"(    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    import jax
    found = []
    for d in jax.local_devices():
        if d.platform == "cpu":
            continue
        said = (d.platform + " " + str(getattr(d.client, "platform_version", ""))).lower()
        kind = "rocm" if "rocm" in said else "mps" if "metal" in said else "cuda"
        stats = d.memory_stats() if hasattr(d, "memory_stats") else None
        found.append((kind, d.device_kind, (stats or {}).get("bytes_limit")))
    return jax.__version__, found
)"},
    {"cupy", R"(    import cupy
    runtime = cupy.cuda.runtime
    found = []
    for i in range(runtime.getDeviceCount()):
        p = runtime.getDeviceProperties(i)
        name = p["name"].decode() if isinstance(p["name"], bytes) else p["name"]
        found.append(("rocm" if runtime.is_hip else "cuda", name, p["totalGlobalMem"]))
    return cupy.__version__, found
)"},
    {"tensorflow", R"(    os.environ["TF_FORCE_GPU_ALLOW_GROWTH"] = "true"
    import tensorflow as tf
    kind = "cuda" if tf.test.is_built_with_cuda() else "mps"
    if tf.test.is_built_with_rocm():
        kind = "rocm"
    found = []
    for d in tf.config.list_physical_devices("GPU"):
        details = tf.config.experimental.get_device_details(d)
        found.append((kind, details.get("device_name", d.name), None))
    return tf.__version__, found
)"},
    {"mlx", R"(    import mlx.core as mx
    from importlib.metadata import version
    found = []
    if mx.metal.is_available():
        found.append(("mps", "Apple", mx.metal.device_info().get("memory_size")))
    elif hasattr(mx, "cuda") and mx.cuda.is_available():
        found.append(("cuda", "NVIDIA", None))
    return version("mlx"), found
)"},
});

std::string printable(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_string()) return "";
  std::string text = found->get<std::string>();
  for (char& c : text) {
    if (c < ' ' || c > '~') c = c == '\n' ? ' ' : '?';
  }
  return text;
}

std::optional<SeenDevice> seen_device(const Json& json) {
  if (!json.is_object()) return std::nullopt;
  const std::optional<AcceleratorKind> kind = accelerator_kind(printable(json, "kind"));
  if (!kind) return std::nullopt;
  SeenDevice device{*kind, printable(json, "name"), std::nullopt};
  const auto memory = json.find("memory_bytes");
  if (memory != json.end() && memory->is_number_unsigned()) {
    device.memory_bytes = memory->get<std::uint64_t>();
  }
  return device;
}

bool same_version(const std::string& a, const std::string& b) {
  const Result<Version> left = Version::parse(a);
  const Result<Version> right = Version::parse(b);
  if (!left.ok() || !right.ok()) return a == b;
  return left.value().compare_public(right.value()) == 0;
}

template <class Items, class Matches>
std::size_t count_of(const Items& items, Matches matches) {
  return static_cast<std::size_t>(std::count_if(items.begin(), items.end(), matches));
}

std::string counted(std::size_t count, std::string_view kind) {
  return std::to_string(count) + " " + std::string(kind) + (count == 1 ? " device" : " devices");
}

}  // namespace

std::span<const FrameworkProbe> framework_probes() { return probes; }

const FrameworkProbe* framework_probe(std::string_view name) {
  for (const FrameworkProbe& probe : probes) {
    if (probe.name == name) return &probe;
  }
  return nullptr;
}

std::string framework_probe_program(const FrameworkProbe& probe) {
  return std::string(before_look) + std::string(probe.look) + std::string(after_look);
}

std::vector<std::string> framework_probe_command(const std::string& python,
                                                 const FrameworkProbe& probe) {
  return {python, "-E", "-B", "-c", framework_probe_program(probe)};
}

Result<FrameworkProbeAnswer> parse_framework_probe(std::string_view output) {
  const Error none{Code::invalid, "the framework's probe printed no answer"};
  const std::string mark = "\n" + std::string(answer_mark);
  const std::size_t at = output.rfind(mark);
  if (at == std::string_view::npos) return none;
  std::string_view line = output.substr(at + mark.size());
  line = line.substr(0, line.find('\n'));
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return none;
  FrameworkProbeAnswer answer;
  answer.version = printable(json, "version");
  answer.error = printable(json, "error");
  const auto devices = json.find("devices");
  if (devices != json.end() && devices->is_array()) {
    for (const Json& entry : *devices) {
      if (std::optional<SeenDevice> device = seen_device(entry)) answer.devices.push_back(*device);
    }
  }
  return answer;
}

std::vector<std::string> probe_disagreements(std::string_view framework,
                                             const FrameworkBuild& build,
                                             const std::vector<Accelerator>& devices,
                                             const FrameworkProbeAnswer& answer) {
  const std::string name(framework);
  if (!answer.error.empty()) return {name + " could not be asked: " + answer.error};
  std::vector<std::string> found;
  if (!same_version(build.version, answer.version)) {
    found.push_back(name + " says that it is " + answer.version + ", its metadata " +
                    build.version);
  }
  for (const AcceleratorKind kind :
       {AcceleratorKind::cuda, AcceleratorKind::rocm, AcceleratorKind::mps, AcceleratorKind::xpu}) {
    const bool drives =
        std::find(build.backends.begin(), build.backends.end(), kind) != build.backends.end();
    const std::size_t seen =
        count_of(answer.devices, [&](const SeenDevice& device) { return device.kind == kind; });
    const std::size_t usable = count_of(
        devices, [&](const Accelerator& device) { return device.kind == kind && device.usable; });
    if (seen > 0 && !drives) {
      found.push_back(name + " sees " + counted(seen, name_of(kind)) +
                      ", its files do not say that it drives such");
    } else if (drives && seen != usable) {
      found.push_back(name + " sees " + counted(seen, name_of(kind)) + ", the driver " +
                      std::to_string(usable) + " usable");
    }
  }
  return found;
}

}  // namespace gpl::host
