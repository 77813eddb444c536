#include "gpl/host/framework_builds.h"

#include <doctest/doctest.h>

#include "gpl/host/installed_packages.h"
#include "python_tree.h"

namespace gpl::host {
namespace {

using test::PythonTree;
using Names = std::vector<std::string>;
using Kinds = std::vector<AcceleratorKind>;

std::map<std::string, FrameworkBuild> builds(const PythonTree& tree,
                                             const std::vector<CondaRecord>& conda = {},
                                             const Names& sites = {"/site"}) {
  const SystemRoot root(tree.path());
  return framework_builds(root, read_installed_packages(root, sites).distributions, conda, sites);
}

TEST_CASE("two variants in one folder are both named, with a warning") {
  const PythonTree tree;
  tree.install("site", "onnxruntime", "1.23.2");
  tree.install("site", "onnxruntime-gpu", "1.23.1");
  tree.write("site/onnxruntime/capi/x.so", "ELF");
  FrameworkBuild build = builds(tree).at("onnxruntime");
  CHECK(build.dist == "onnxruntime");
  CHECK(build.dists == Names{"onnxruntime", "onnxruntime-gpu"});
  REQUIRE(build.warnings.size() == 1);
  CHECK(build.warnings[0].find("onnxruntime 1.23.2 and onnxruntime-gpu 1.23.1 both write into "
                               "onnxruntime/") == 0);

  tree.write("site/onnxruntime/capi/libonnxruntime_providers_cuda.so", "ELF");
  build = builds(tree).at("onnxruntime");
  CHECK(build.dist == "onnxruntime-gpu");
  CHECK(build.version == "1.23.1");
  CHECK(build.backends == Kinds{AcceleratorKind::cuda});
}

TEST_CASE("what comes with the plain distribution is no clash") {
  const PythonTree tree;
  tree.install("site", "tensorrt", "10.3.0");
  tree.install("site", "tensorrt-cu12", "10.3.0");
  tree.install("site", "tensorrt-cu12-libs", "10.3.0");
  const FrameworkBuild build = builds(tree).at("tensorrt");
  CHECK(build.warnings.empty());
  CHECK(build.dists == Names{"tensorrt", "tensorrt-cu12"});
}

TEST_CASE("of two records of one distribution the newer counts, with a warning") {
  const PythonTree tree;
  tree.install("site", "numpy", "1.9.0");
  tree.install("site", "numpy", "1.26.4");
  const FrameworkBuild build = builds(tree).at("numpy");
  CHECK(build.version == "1.26.4");
  CHECK(build.warnings.size() == 1);
}

TEST_CASE("of two records of torch the one that its own files agree with counts") {
  const PythonTree tree;
  tree.install("site", "torch", "1.13.1+cu116");
  tree.install("site", "torch", "2.0.0");
  tree.write("site/torch/version.py", "__version__ = '1.13.1+cu116'\ncuda = '11.6'\n");
  CHECK(builds(tree).at("torch").version == "1.13.1+cu116");
}

TEST_CASE("the same version recorded twice is no matter") {
  const PythonTree tree;
  tree.install("site", "numpy", "1.26.4");
  tree.write("site/numpy-1.26.4-py3.11.egg-info/PKG-INFO", PythonTree::metadata("numpy", "1.26.4"));
  CHECK(builds(tree).at("numpy").warnings.empty());
}

TEST_CASE("the first folder on the path has it, and says whom it hides") {
  const PythonTree tree;
  tree.install("user", "torch", "2.4.0");
  tree.install("dist", "torch", "1.13.0a0");
  const FrameworkBuild build = builds(tree, {}, {"/user", "/dist"}).at("torch");
  CHECK(build.version == "2.4.0");
  CHECK(build.warnings == Names{"hides torch 1.13.0a0 in /dist/"});
}

TEST_CASE("files of another version than the metadata's are warned of") {
  const PythonTree tree;
  tree.install("site", "torch", "2.4.0");
  tree.write("site/torch/version.py", "__version__ = '2.1.2'\ncuda = None\n");
  CHECK(builds(tree).at("torch").warnings.size() == 1);
}

TEST_CASE("Debian's three versions of torch are no contradiction") {
  const PythonTree tree;
  tree.write("site/torch-1.13.0a0+gitunknown.egg-info/PKG-INFO",
             PythonTree::metadata("torch", "1.13.0a0+gitunknown"));
  tree.write("site/torch/version.py", "__version__ = '1.13.0a0'\ncuda = None\nhip = None\n");
  const FrameworkBuild build = builds(tree).at("torch");
  CHECK(build.version == "1.13.0a0+gitunknown");
  CHECK(build.warnings.empty());
  CHECK(build.backends.empty());
}

TEST_CASE("jax drives what its plugins and its jaxlib drive") {
  const PythonTree tree;
  tree.install("site", "jax", "0.4.30");
  tree.install("site", "jaxlib", "0.4.30");
  CHECK(builds(tree).at("jax").backends.empty());

  tree.install("site", "jax-cuda12-plugin", "0.4.30");
  tree.install("site", "jax-metal", "0.1.1");
  const auto found = builds(tree);
  CHECK(found.size() == 2);
  CHECK(found.at("jax").backends == Kinds{AcceleratorKind::cuda, AcceleratorKind::mps});
  CHECK(found.at("jax").backend_version == "12");
  CHECK(found.at("jax").dists == Names{"jax"});
  CHECK(found.at("jaxlib").backends.empty());

  const PythonTree old;
  old.install("site", "jax", "0.4.20");
  old.install("site", "jaxlib", "0.4.20+cuda11.cudnn86");
  CHECK(builds(old).at("jax").backends == Kinds{AcceleratorKind::cuda});
}

TEST_CASE("a plugin alone is no framework") {
  const PythonTree tree;
  tree.install("site", "jax-cuda12-plugin", "0.4.30");
  CHECK(builds(tree).empty());
}

TEST_CASE("tensorflow-gpu is a framework up to 2.12 and an empty stand-in later") {
  const PythonTree tree;
  tree.install("site", "tensorflow-gpu", "2.12.0");
  CHECK(builds(tree).count("tensorflow") == 1);
  const PythonTree later;
  later.install("site", "tensorflow-gpu", "2.13.0");
  CHECK(builds(later).empty());
}

TEST_CASE("what only conda has a record of counts by it") {
  const PythonTree tree;
  tree.install("site", "numpy", "1.26.4");
  const auto found = builds(tree, {{"pytorch", "2.1.2", "py3.11_cuda12.1_cudnn8.9.2_0"},
                                   {"numpy", "1.26.0", "py311_0"},
                                   {"zlib", "1.3", "0"}});
  CHECK(found.size() == 2);
  CHECK(found.at("torch").version == "2.1.2");
  CHECK(found.at("torch").backends == Kinds{AcceleratorKind::cuda});
  CHECK(found.at("torch").backend_version == "12.1");
  CHECK(found.at("numpy").version == "1.26.4");
}

TEST_CASE("a version that is none by PEP 440 is kept and warned of") {
  const PythonTree tree;
  tree.install("site", "vllm", "dev-main");
  const FrameworkBuild build = builds(tree).at("vllm");
  CHECK(build.version == "dev-main");
  CHECK(build.warnings.size() == 1);
}

TEST_CASE("a zipped egg's version is from its name, and says so") {
  const PythonTree tree;
  tree.write("site/cupy-9.0-py3.8.egg", "PK");
  CHECK(builds(tree).at("cupy").warnings.size() == 1);
}

}  // namespace
}  // namespace gpl::host
