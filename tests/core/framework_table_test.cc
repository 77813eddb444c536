#include "gpl/core/framework_table.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "gpl/core/package_requirement.h"
#include "gpl/core/version.h"

namespace gpl {
namespace {

std::string framework_of(std::string_view dist) {
  const FrameworkVariant* variant = framework_variant(dist);
  return variant == nullptr ? "" : std::string(variant->framework);
}

TEST_CASE("every distribution stands in the table once, under its normalised name") {
  std::set<std::string_view> seen;
  for (const FrameworkVariant& variant : framework_variants()) {
    CHECK(normalised_package_name(variant.dist) == variant.dist);
    CHECK(seen.insert(variant.dist).second);
    CHECK(framework_variant(variant.dist) == &variant);
  }
}

TEST_CASE("each framework of the design has a distribution of its own name") {
  std::set<std::string_view> frameworks;
  for (const FrameworkVariant& variant : framework_variants()) frameworks.insert(variant.framework);
  const std::set<std::string_view> designed{"torch",  "jax",  "jaxlib",       "tensorflow",
                                            "mlx",    "cupy", "onnxruntime",  "tensorrt",
                                            "triton", "vllm", "transformers", "numpy"};
  CHECK(frameworks == designed);
  for (const std::string_view name : designed) {
    REQUIRE(framework_variant(name) != nullptr);
    CHECK(framework_variant(name)->part == FrameworkPart::build);
  }
}

TEST_CASE("variants are the framework") {
  CHECK(framework_of("cupy-cuda12x") == "cupy");
  CHECK(framework_of("cupy-rocm-7-0") == "cupy");
  CHECK(framework_of("tensorflow-cpu-aws") == "tensorflow");
  CHECK(framework_of("tf-nightly-gpu") == "tensorflow");
  CHECK(framework_of("tensorrt-cu13") == "tensorrt");
  CHECK(framework_of("pytorch-triton-xpu") == "triton");
  CHECK(framework_of("ort-nightly-gpu") == "onnxruntime");
  CHECK(framework_of("vllm-tpu") == "vllm");
}

TEST_CASE("what only begins like a framework is none") {
  for (const std::string_view name : {"cupy-stubs",
                                      "cupy-xarray",
                                      "cupy-knn",
                                      "jax-cosmo",
                                      "jax-cfd",
                                      "jaxtyping",
                                      "jaxopt",
                                      "tensorflow-datasets",
                                      "tensorflow-estimator",
                                      "tensorflow-hub",
                                      "tensorflow-probability",
                                      "tensorflow-text",
                                      "tensorflow-io",
                                      "torchvision",
                                      "torchaudio",
                                      "torch-xla",
                                      "tritonclient",
                                      "onnxruntime-extensions",
                                      "onnxruntime-genai",
                                      "numpy-quaternion",
                                      "vllm-flash-attn",
                                      "pytorch",
                                      "tensorrt-lean",
                                      "tensorrt-dispatch",
                                      "tensorrt-rtx",
                                      "tensorrt-llm",
                                      "tensorrt-cu12-bindings",
                                      "tensorrt-cu12-libs",
                                      "transformer",
                                      "torc",
                                      ""}) {
    CAPTURE(name);
    CHECK(framework_variant(name) == nullptr);
  }
}

TEST_CASE("a plugin is no build, and the versions from which a name is a stub are versions") {
  CHECK(framework_variant("jax-metal")->part == FrameworkPart::plugin);
  CHECK(framework_variant("jax-cuda12-plugin")->kind == AcceleratorKind::cuda);
  for (const FrameworkVariant& variant : framework_variants()) {
    if (!variant.stub_from.empty()) CHECK(Version::parse(variant.stub_from).ok());
  }
}

TEST_CASE("conda calls torch pytorch") {
  CHECK(framework_of_conda_package("pytorch") == "torch");
  CHECK(framework_of_conda_package("tensorflow-base") == "tensorflow");
  CHECK_FALSE(framework_of_conda_package("torchvision").has_value());
}

}  // namespace
}  // namespace gpl
