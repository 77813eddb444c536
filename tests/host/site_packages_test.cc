#include "gpl/host/site_packages.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "python_tree.h"

namespace gpl::host {
namespace {

using test::PythonTree;

SitePackages read(const PythonTree& tree) {
  return read_site_packages(SystemRoot(tree.path()), "/site");
}

std::string listed(const SitePackages& site) {
  std::string text;
  for (const Distribution& distribution : site.distributions) {
    text +=
        distribution.name + " " + distribution.version + (distribution.editable ? " e" : "") + ";";
  }
  return text;
}

bool mentions(const SitePackages& site, const std::string& text) {
  for (const std::string& problem : site.problems) {
    if (problem.find(text) != std::string::npos) return true;
  }
  return false;
}

TEST_CASE("every form of metadata is read, by what it says and not by its entry's name") {
  const PythonTree tree;
  tree.install("site", "numpy", "1.26.4");
  tree.write("site/whatever-0.dist-info/METADATA", PythonTree::metadata("Jax_Metal", "0.1.1"));
  tree.write("site/torch-2.1.2-py3.11.egg-info/PKG-INFO", PythonTree::metadata("torch", "2.1.2"));
  tree.write("site/cupy-9.egg-info", PythonTree::metadata("cupy", "9.0.0"));
  tree.write("site/vllm-1-py3.egg/EGG-INFO/PKG-INFO", PythonTree::metadata("vllm", "1.0"));
  const SitePackages site = read(tree);
  CHECK(listed(site) == "cupy 9.0.0;numpy 1.26.4;torch 2.1.2;vllm 1.0;jax-metal 0.1.1;");
  CHECK(site.problems.empty());
}

TEST_CASE("of a zipped egg the file name counts") {
  const PythonTree tree;
  tree.write("site/tensorflow_cpu-1.0-py3.11.egg", "PK\x03\x04");
  const SitePackages site = read(tree);
  CHECK(listed(site) == "tensorflow-cpu 1.0;");
  CHECK(site.distributions.front().read_from_name);
}

TEST_CASE("leftovers of an uninstall are not counted, and said in one line") {
  const PythonTree tree;
  tree.install("site", "torch", "1.13.1");
  tree.write("site/~orch-1.13.0.dist-info/METADATA", PythonTree::metadata("torch", "1.13.0"));
  tree.write("site/~orch/version.py", "");
  const SitePackages site = read(tree);
  CHECK(listed(site) == "torch 1.13.1;");
  REQUIRE(site.problems.size() == 1);
  CHECK(mentions(site, "'~orch', '~orch-1.13.0.dist-info' are not counted"));
}

TEST_CASE("an entry without metadata is a problem, unless a whole one is beside it") {
  const PythonTree tree;
  tree.install("site", "torch", "1.13.1");
  tree.write("site/torch-1.12.1.dist-info/REQUESTED", "");
  tree.write("site/numpy-1.0.dist-info/REQUESTED", "");
  std::filesystem::create_directory(tree / "site/cupy-1.egg-info");
  const SitePackages site = read(tree);
  CHECK(listed(site) == "torch 1.13.1;");
  REQUIRE(site.problems.size() == 2);
  CHECK(mentions(site, "'cupy-1.egg-info' is not counted: it holds no metadata"));
  CHECK(mentions(site, "'numpy-1.0.dist-info' is not counted: it holds no metadata"));
}

TEST_CASE("one bad package hides no other") {
  const PythonTree tree;
  tree.install("site", "numpy", "1.26.4");
  tree.write("site/a-1.dist-info/METADATA", "Summary: no name\n\n");
  std::filesystem::create_directories(tree / "site/b-1.dist-info/METADATA");
  std::filesystem::create_directories(tree / "site/c-1.dist-info");
  std::filesystem::create_symlink("METADATA", tree / "site/c-1.dist-info/METADATA");
  std::filesystem::create_symlink("d-1.dist-info", tree / "site/d-1.dist-info");
  std::filesystem::create_directories(tree / "site/e-1.dist-info");
  REQUIRE(::mkfifo((tree / "site/e-1.dist-info/METADATA").c_str(), 0644) == 0);
  tree.write("site/f\xFF-1.dist-info/METADATA", "Name: \xFF\nVersion: 1\n");
  tree.write("site/g-1.dist-info/METADATA", "Name: g\nVersion: 1\n\n" + std::string(10 << 20, 'x'));
  tree.write("site/h-1.dist-info/METADATA", "Author: Andr\xE9\nName: h\nVersion: 1\n");
  std::filesystem::create_symlink("nowhere", tree / "site/i-1.egg-info");
  const SitePackages site = read(tree);
  CHECK(listed(site) == "g 1;h 1;numpy 1.26.4;");
  CHECK(mentions(site, "'a-1.dist-info' is not counted: its metadata has no Name"));
  CHECK(mentions(site, "'b-1.dist-info' is not counted: its metadata METADATA cannot be read: Is"));
  CHECK(mentions(site, "'c-1.dist-info'"));
  CHECK(mentions(site, "'d-1.dist-info'"));
  CHECK(mentions(site, "'e-1.dist-info'"));
  CHECK(mentions(site, "'f\\xff-1.dist-info'"));
  CHECK(mentions(site, "'i-1.egg-info'"));
  CHECK(site.problems.size() == 7);
}

TEST_CASE("what may not be read is a problem with the system's words") {
  if (::geteuid() == 0) return;  // root may read everything
  const PythonTree tree;
  tree.write("site/a-1.dist-info/METADATA", PythonTree::metadata("a", "1"), 0000);
  CHECK(mentions(read(tree), "Permission denied"));
}

TEST_CASE("a folder that is not there is a problem") {
  const PythonTree tree;
  CHECK(read(tree).problems.size() == 1);
}

TEST_CASE("editable installs of every kind are told, with their source") {
  const PythonTree tree;
  tree.install("site", "vllm", "0.6");
  tree.write("site/vllm-0.6.dist-info/direct_url.json",
             R"({"dir_info": {"editable": true}, "url": "file:///src/vllm"})");
  tree.install("site", "jax", "0.4");
  tree.write("site/__editable__.jax-0.4.pth", "/src/jax\n");
  tree.install("site", "onnxruntime-gpu", "1.17");
  tree.write("site/__editable___onnxruntime_gpu_1_17_finder.py", "raise SystemExit\n");
  tree.write("site/cupy.egg-link", "../src/cupy\n.");
  tree.write("src/cupy/cupy.egg-info/PKG-INFO", PythonTree::metadata("cupy", "13.0"));
  const SitePackages site = read(tree);
  CHECK(listed(site) == "cupy 13.0 e;jax 0.4 e;onnxruntime-gpu 1.17 e;vllm 0.6 e;");
  CHECK(site.distributions[0].source == "/src/cupy");
  CHECK(site.distributions[1].source == "/src/jax");
  CHECK(site.distributions[3].source == "/src/vllm");
  CHECK(site.added == std::vector<std::string>{"/src/jax"});
  CHECK(site.problems.empty());
}

TEST_CASE("an editable mark of a longer name is another distribution's") {
  const PythonTree tree;
  tree.install("site", "vllm", "0.6");
  tree.write("site/__editable__.vllm_flash_attn-2.6.pth", "/src/fa\n");
  CHECK(listed(read(tree)) == "vllm 0.6;");
}

TEST_CASE("an egg link that leads nowhere is a problem") {
  const PythonTree tree;
  tree.write("site/torch.egg-link", "/gone\n");
  tree.write("site/cupy.egg-link", "");
  const SitePackages site = read(tree);
  CHECK(site.distributions.empty());
  CHECK(mentions(site, "'torch.egg-link' is not counted: there is no metadata in /gone"));
  CHECK(mentions(site, "'cupy.egg-link' is not counted: it names no folder"));
}

TEST_CASE("path files give folders relative to their own, hidden ones none") {
  const PythonTree tree;
  tree.write("site/a.pth", "import os; os.abort()\n../more/x/\n/abs\n");
  tree.write("site/.hidden.pth", "/hidden\n");
  CHECK(read(tree).added == std::vector<std::string>{"/more/x", "/abs"});
}

TEST_CASE("an entry is of a distribution when its version or nothing follows the name") {
  CHECK(is_entry_of("onnxruntime_gpu-1.17.1", "onnxruntime-gpu"));
  CHECK(is_entry_of("Torch", "torch"));
  CHECK_FALSE(is_entry_of("onnxruntime_gpu-1.17.1", "onnxruntime"));
  CHECK_FALSE(is_entry_of("torchvision-1", "torch"));
  CHECK_FALSE(is_entry_of("torc", "torch"));
}

}  // namespace
}  // namespace gpl::host
