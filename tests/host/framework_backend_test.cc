#include "gpl/host/framework_backend.h"

#include <doctest/doctest.h>

#include "python_tree.h"

namespace gpl::host {
namespace {

using test::PythonTree;

// "cuda rocm 12.1": what the build of `dist` at `version` drives.
std::string backends(const PythonTree& tree, const std::string& dist, const std::string& version,
                     const std::string& conda_build = "", bool editable = false) {
  Distribution distribution;
  distribution.name = dist;
  distribution.version = version;
  distribution.site = "/site";
  distribution.record = "record.dist-info";
  distribution.editable = editable;
  if (editable) distribution.source = "/src";
  const FrameworkBackends found = framework_backends(SystemRoot(tree.path()), distribution,
                                                     *framework_variant(dist), conda_build);
  std::string text;
  for (const AcceleratorKind kind : found.kinds) text += std::string(name_of(kind)) + " ";
  return text + found.version;
}

TEST_CASE("torch's version file decides first") {
  const PythonTree tree;
  tree.write("site/torch/lib/libtorch_cuda.so", "ELF");
  tree.write("site/torch/version.py", "cuda: Optional[str] = None\nhip: Optional[str] = None\n");
  CHECK(backends(tree, "torch", "2.4.0+cu121") == "");

  tree.write("site/torch/version.py", "cuda: Optional[str] = '12.1'\nhip = None\nxpu = None\n");
  CHECK(backends(tree, "torch", "2.4.0") == "cuda 12.1");

  tree.write("site/torch/version.py", "cuda = None\nhip: Optional[str] = '6.0.32830-d62f6a171'\n");
  CHECK(backends(tree, "torch", "2.3.0") == "rocm 6.0");

  tree.write("site/torch/version.py", "cuda = None\nhip = '6.4.4'\nrocm = '6.4.1'\n");
  CHECK(backends(tree, "torch", "2.3.0") == "rocm 6.4");

  tree.write("site/torch/version.py", "cuda = None\nhip = None\nxpu: Optional[str] = '20250101'\n");
  CHECK(backends(tree, "torch", "2.8.0") == "xpu 20250101");
}

TEST_CASE("without a version file that says it, shared objects decide, then the local version") {
  const PythonTree tree;
  tree.write("site/torch/version.py", "__version__ = '2.4.0'\n");
  CHECK(backends(tree, "torch", "2.4.0") == "");
  CHECK(backends(tree, "torch", "2.4.0+rocm6.1") == "rocm 6.1");
  CHECK(backends(tree, "torch", "2.4.0+cpu") == "");
  CHECK(backends(tree, "torch", "2.4.0a0+07cecf4168.nv24.05") == "cuda ");

  tree.write("site/torch/lib/libtorch_cuda.so", "ELF");
  CHECK(backends(tree, "torch", "2.4.0") == "cuda ");
  CHECK(backends(tree, "torch", "2.4.0+cu118") == "cuda 11.8");
}

TEST_CASE("an editable torch is looked for in its source") {
  const PythonTree tree;
  tree.write("src/torch/version.py", "cuda = '12.4'\nhip = None\n");
  CHECK(backends(tree, "torch", "2.6.0a0+git1", "", true) == "cuda 12.4");
}

TEST_CASE("a wheel for Apple Silicon drives mps when nothing else is said") {
  const PythonTree tree;
  tree.write("site/torch/version.py", "cuda = None\nhip = None\n");
  tree.write("site/record.dist-info/WHEEL",
             "Wheel-Version: 1.0\nTag: cp311-none-macosx_11_0_arm64\n");
  CHECK(backends(tree, "torch", "2.4.0") == "mps ");
  CHECK(backends(tree, "mlx", "0.10.0") == "mps ");
  CHECK(backends(tree, "numpy", "1.26.4") == "");
  tree.write("site/record.dist-info/WHEEL", "Tag: cp311-cp311-manylinux_2_28_aarch64\n");
  CHECK(backends(tree, "torch", "2.4.0") == "");
}

TEST_CASE("tensorflow's build information decides over the distribution's name") {
  const PythonTree tree;
  CHECK(backends(tree, "tensorflow", "2.16.1") == "");
  CHECK(backends(tree, "tensorflow-rocm", "2.14.0.600") == "rocm ");
  const std::string info = "site/tensorflow/python/platform/build_info.py";
  tree.write(info,
             "build_info = OrderedDict([('cuda_version', '12.3'), ('is_cuda_build', True), "
             "('is_rocm_build', False)])\n");
  CHECK(backends(tree, "tensorflow", "2.16.1") == "cuda 12.3");
  tree.write(info,
             "build_info = OrderedDict([('is_cuda_build', False), ('is_rocm_build', "
             "False)])\n");
  CHECK(backends(tree, "tensorflow", "2.16.1") == "");
  tree.write(info, "is_rocm_build = False\nis_cuda_build = True\ncuda_version_number = '10.1'\n");
  CHECK(backends(tree, "tensorflow", "2.2.0") == "cuda 10.1");
}

TEST_CASE("onnxruntime drives what it has a provider for; its name counts only without its files") {
  const PythonTree tree;
  CHECK(backends(tree, "onnxruntime-gpu", "1.17") == "cuda ");
  CHECK(backends(tree, "onnxruntime-migraphx", "1.17") == "rocm ");
  CHECK(backends(tree, "onnxruntime-silicon", "1.16") == "");
  tree.write("site/onnxruntime/capi/onnxruntime_pybind11_state.so", "ELF");
  CHECK(backends(tree, "onnxruntime-gpu", "1.17") == "");
  tree.write("site/onnxruntime/capi/libonnxruntime_providers_cuda.so", "ELF");
  CHECK(backends(tree, "onnxruntime", "1.17") == "cuda ");
}

TEST_CASE("where only the name says it, it counts, but not of an editable install") {
  const PythonTree tree;
  CHECK(backends(tree, "cupy", "13.0") == "cuda ");
  CHECK(backends(tree, "cupy-cuda117", "10.6") == "cuda 11.7");
  CHECK(backends(tree, "cupy-rocm-5-0", "12.0") == "rocm 5.0");
  CHECK(backends(tree, "tensorrt-cu12", "10.3") == "cuda 12");
  CHECK(backends(tree, "vllm", "0.6.3") == "cuda ");
  CHECK(backends(tree, "vllm", "0.6.3+cpu") == "");
  CHECK(backends(tree, "vllm", "0.6.3+rocm624") == "rocm 6.2.4");
  CHECK(backends(tree, "vllm-tpu", "0.6.3") == "");
  CHECK(backends(tree, "vllm", "0.6.3.dev1+g890ca360", "", true) == "");
  CHECK(backends(tree, "triton", "3.0.0") == "");
  CHECK(backends(tree, "jaxlib", "0.4.25+cuda12.cudnn89") == "cuda 12");
}

TEST_CASE("triton drives what it has a backend folder for") {
  const PythonTree tree;
  tree.write("site/triton/backends/nvidia/driver.c", "");
  tree.write("site/triton/backends/amd/driver.c", "");
  CHECK(backends(tree, "triton", "3.0.0") == "cuda rocm ");
}

TEST_CASE("conda's build string counts before the name") {
  const PythonTree tree;
  CHECK(backends(tree, "jaxlib", "0.4.31", "cuda120py311h1_200") == "cuda 12.0");
  CHECK(backends(tree, "tensorflow", "2.15.0", "cpu_py311h1_2") == "");
}

TEST_CASE("a version file that is a link to nowhere, or huge, is passed over") {
  const PythonTree tree;
  tree.write("site/torch/version.py", std::string(1 << 20, '#'));
  CHECK(backends(tree, "torch", "2.4.0+cu121") == "cuda 12.1");
}

}  // namespace
}  // namespace gpl::host
