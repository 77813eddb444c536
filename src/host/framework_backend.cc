#include "gpl/host/framework_backend.h"

#include <fcntl.h>

#include <algorithm>
#include <array>

#include "gpl/core/version.h"
#include "gpl/host/device_tag.h"
#include "gpl/host/package_metadata.h"
#include "gpl/host/python_literals.h"

namespace gpl::host {
namespace {

constexpr auto cuda = AcceleratorKind::cuda;
constexpr auto rocm = AcceleratorKind::rocm;
constexpr auto mps = AcceleratorKind::mps;
constexpr auto xpu = AcceleratorKind::xpu;

constexpr std::size_t max_source_bytes = std::size_t{64} << 10;

// One thing that a framework's own file says in Python: that it drives `kind`, by being True or a
// string. Rows of one file stand together; of two rows of a kind, the first that says so counts.
struct SourceRow {
  std::string_view framework;
  std::string_view file;
  PythonLiterals (*reader)(std::string_view);
  std::string_view name;
  AcceleratorKind kind;
  std::string_view version_name;  // what says the version; the row's own string when ""
};
constexpr std::string_view torch_version = "torch/version.py";
constexpr std::string_view tensorflow_info = "tensorflow/python/platform/build_info.py";
constexpr auto source_rows = std::to_array<SourceRow>({
    {"torch", torch_version, assigned_literals, "cuda", cuda, ""},
    {"torch", torch_version, assigned_literals, "rocm", rocm, ""},
    {"torch", torch_version, assigned_literals, "hip", rocm, ""},
    {"torch", torch_version, assigned_literals, "xpu", xpu, ""},
    {"tensorflow", tensorflow_info, listed_literals, "is_cuda_build", cuda, "cuda_version"},
    {"tensorflow", tensorflow_info, listed_literals, "is_rocm_build", rocm, "rocm_version"},
    // Before 2.3.
    {"tensorflow", tensorflow_info, assigned_literals, "is_cuda_build", cuda,
     "cuda_version_number"},
    {"tensorflow", tensorflow_info, assigned_literals, "is_rocm_build", rocm, ""},
});

// A file or folder that only builds for `kind` have.
struct ObjectRow {
  std::string_view framework;
  std::string_view path;
  AcceleratorKind kind;
};
constexpr auto object_rows = std::to_array<ObjectRow>({
    {"torch", "torch/lib/libtorch_cuda.so", cuda},
    {"torch", "torch/lib/libtorch_hip.so", rocm},
    {"torch", "torch/lib/libtorch_xpu.so", xpu},
    {"onnxruntime", "onnxruntime/capi/libonnxruntime_providers_cuda.so", cuda},
    {"onnxruntime", "onnxruntime/capi/libonnxruntime_providers_rocm.so", rocm},
    {"onnxruntime", "onnxruntime/capi/libonnxruntime_providers_migraphx.so", rocm},
    {"triton", "triton/backends/nvidia", cuda},
    {"triton", "triton/backends/amd", rocm},
    {"triton", "triton/backends/intel", xpu},
    {"vllm", "vllm/_rocm_C.abi3.so", rocm},
});

// Where this folder is there, the objects above are the whole truth: none means the CPU alone.
struct TellingFolder {
  std::string_view framework;
  std::string_view path;
};
constexpr auto telling_folders = std::to_array<TellingFolder>({
    {"onnxruntime", "onnxruntime/capi"},
    {"triton", "triton/backends"},
});

// Frameworks whose wheel for Apple Silicon drives its GPU.
constexpr std::array<std::string_view, 2> metal_in_wheel{"torch", "mlx"};

// Where the framework's own folder may be: an editable's is in its source tree.
std::vector<std::string> import_roots(const Distribution& distribution) {
  std::vector<std::string> roots{distribution.site};
  if (!distribution.source.empty()) {
    roots.push_back(distribution.source);
    roots.push_back(distribution.source + "/src");
  }
  return roots;
}

std::optional<std::string> read_source(const SystemRoot& root, const Distribution& distribution,
                                       std::string_view file) {
  for (const std::string& folder : import_roots(distribution)) {
    std::optional<std::string> text = root.read(folder + "/" + std::string(file), max_source_bytes);
    if (text) return text;
  }
  return std::nullopt;
}

// HIP's "6.0.32830-d62f6a171" belongs to ROCm 6.0.
std::string major_and_minor(const std::string& version) {
  const std::size_t dot = version.find('.');
  const std::size_t end = version.find_first_not_of("0123456789", dot + 1);
  return dot == std::string::npos ? version : version.substr(0, end);
}

std::string printable_version(const PythonLiterals& literals, std::string_view name) {
  const auto found = literals.find(std::string(name));
  if (found == literals.end() || found->second.kind != PythonLiteral::Kind::text) return "";
  constexpr std::size_t longest = 64;
  const std::string& text = found->second.text;
  const bool plain =
      std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
  return plain && text.size() <= longest ? text : "";
}

bool says_yes(const PythonLiteral& literal) {
  switch (literal.kind) {
    case PythonLiteral::Kind::none:
      return false;
    case PythonLiteral::Kind::boolean:
      return literal.truth;
    case PythonLiteral::Kind::text:
      return !literal.text.empty();
  }
  return false;
}

bool has(const FrameworkBackends& backends, AcceleratorKind kind) {
  return std::find(backends.kinds.begin(), backends.kinds.end(), kind) != backends.kinds.end();
}

std::optional<FrameworkBackends> by_source(const SystemRoot& root, const Distribution& distribution,
                                           std::string_view framework) {
  FrameworkBackends backends;
  bool decided = false;
  std::string_view file;
  std::optional<std::string> text;
  for (const SourceRow& row : source_rows) {
    if (row.framework != framework) continue;
    if (row.file != file) text = read_source(root, distribution, row.file);
    file = row.file;
    if (!text) continue;
    const PythonLiterals literals = row.reader(*text);
    const auto said = literals.find(std::string(row.name));
    if (said == literals.end()) continue;
    decided = true;
    if (!says_yes(said->second) || has(backends, row.kind)) continue;
    const std::string version =
        printable_version(literals, row.version_name.empty() ? row.name : row.version_name);
    backends.add(row.kind, row.kind == rocm ? major_and_minor(version) : version);
  }
  return decided ? std::optional<FrameworkBackends>(backends) : std::nullopt;
}

std::optional<FrameworkBackends> by_objects(const SystemRoot& root,
                                            const Distribution& distribution,
                                            std::string_view framework) {
  FrameworkBackends backends;
  bool decided = false;
  for (const std::string& folder : import_roots(distribution)) {
    for (const ObjectRow& row : object_rows) {
      if (row.framework == framework && root.exists(folder + "/" + std::string(row.path))) {
        backends.add(row.kind, "");
      }
    }
    decided =
        decided || std::any_of(telling_folders.begin(), telling_folders.end(),
                               [&](const TellingFolder& telling) {
                                 return telling.framework == framework &&
                                        root.is_folder(folder + "/" + std::string(telling.path));
                               });
  }
  decided = decided || !backends.kinds.empty();
  return decided ? std::optional<FrameworkBackends>(backends) : std::nullopt;
}

FrameworkBackends of_tag(const DeviceTag& tag) {
  FrameworkBackends backends;
  if (tag.kind) backends.add(*tag.kind, tag.version);
  return backends;
}

std::optional<FrameworkBackends> by_local_version(const Distribution& distribution) {
  const Result<Version> version = Version::parse(distribution.version);
  if (!version.ok()) return std::nullopt;
  const std::optional<DeviceTag> tag = device_tag_of_local_version(version.value().local());
  return tag ? std::optional<FrameworkBackends>(of_tag(*tag)) : std::nullopt;
}

bool is_for_apple_silicon(const SystemRoot& root, const Distribution& distribution) {
  const std::string file = root.on_disk(distribution.site) + "/" + distribution.record + "/WHEEL";
  const Result<MetadataHeaders> headers = read_metadata_headers(AT_FDCWD, file);
  if (!headers.ok()) return false;
  return std::any_of(
      headers.value().fields.begin(), headers.value().fields.end(), [](const auto& field) {
        return field.first == "tag" && field.second.find("-macosx_") != std::string::npos &&
               field.second.ends_with("_arm64");
      });
}

FrameworkBackends by_name(const Distribution& distribution, const FrameworkVariant& variant) {
  FrameworkBackends backends;
  if (variant.kind && !distribution.editable) {
    backends.add(*variant.kind, std::string(variant.kind_version));
  }
  return backends;
}

FrameworkBackends first_evidence(const SystemRoot& root, const Distribution& distribution,
                                 const FrameworkVariant& variant, const std::string& conda_build) {
  if (auto found = by_source(root, distribution, variant.framework)) return *found;
  if (auto found = by_objects(root, distribution, variant.framework)) return *found;
  if (auto found = by_local_version(distribution)) return *found;
  if (const auto tag = device_tag_of_conda_build(conda_build)) return of_tag(*tag);
  return by_name(distribution, variant);
}

}  // namespace

void FrameworkBackends::add(AcceleratorKind kind, const std::string& kind_version) {
  const auto at = std::lower_bound(kinds.begin(), kinds.end(), kind);
  if (at == kinds.end() || *at != kind) kinds.insert(at, kind);
  if (version.empty()) version = kind_version;
}

FrameworkBackends framework_backends(const SystemRoot& root, const Distribution& distribution,
                                     const FrameworkVariant& variant,
                                     const std::string& conda_build) {
  FrameworkBackends backends = first_evidence(root, distribution, variant, conda_build);
  // Objects and the like say which kind, other evidence which version of it.
  if (backends.version.empty() && backends.kinds.size() == 1) {
    const std::optional<FrameworkBackends> tagged = by_local_version(distribution);
    if (tagged && tagged->kinds == backends.kinds) backends.version = tagged->version;
    const FrameworkBackends named = by_name(distribution, variant);
    if (backends.version.empty() && named.kinds == backends.kinds) backends.version = named.version;
  }
  const bool may_be_metal = std::find(metal_in_wheel.begin(), metal_in_wheel.end(),
                                      variant.framework) != metal_in_wheel.end();
  if (backends.kinds.empty() && may_be_metal && is_for_apple_silicon(root, distribution)) {
    backends.add(mps, "");
  }
  return backends;
}

std::optional<std::string> version_in_files(const SystemRoot& root,
                                            const Distribution& distribution,
                                            std::string_view framework) {
  if (framework != "torch") return std::nullopt;
  const std::optional<std::string> text = read_source(root, distribution, torch_version);
  if (!text) return std::nullopt;
  const std::string version = printable_version(assigned_literals(*text), "__version__");
  return version.empty() ? std::nullopt : std::optional<std::string>(version);
}

std::string_view backend_provider(std::string_view framework) {
  return framework == "jax" ? "jaxlib" : "";
}

}  // namespace gpl::host
