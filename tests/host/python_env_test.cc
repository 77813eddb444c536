#include "gpl/host/python_env.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "python_tree.h"

namespace gpl::host {
namespace {

using nlohmann::json;
using test::PythonTree;
using Names = std::vector<std::string>;

void make_python(const PythonTree& tree, const std::string& prefix) {
  tree.write(prefix + "/bin/python3.11", "ELF", 0755);
  std::filesystem::create_symlink("python3.11", tree / (prefix + "/bin/python3"));
  std::filesystem::create_directories(tree / (prefix + "/lib/python3.11/site-packages"));
}

EnvironmentSearch search_in(const PythonTree& tree) {
  EnvironmentSearch search;
  search.system_root = tree.path();
  search.home = "/home/a";
  search.folder = "/home/a/work";
  search.path = "/home/a/bin:/usr/bin:/bin";
  std::filesystem::create_directories(tree / "home/a/work");
  return search;
}

Names names_of(const FoundEnvironments& found) {
  Names names;
  for (const PythonEnvironment& environment : found.environments) names.push_back(environment.name);
  return names;
}

TEST_CASE("environments come in a fixed order, each once, and are named for people") {
  const PythonTree tree;
  for (const char* prefix :
       {"usr", "opt/given", "home/a/venv", "home/a/miniconda3", "home/a/miniconda3/envs/ml",
        "data/envs/x", "home/a/.pyenv/versions/3.11.7"}) {
    make_python(tree, prefix);
  }
  tree.write("home/a/venv/pyvenv.cfg", "home = /usr/bin\nversion = 3.11.2\n");
  tree.write("home/a/miniconda3/conda-meta/history", "");
  tree.write("data/envs/x/conda-meta/history", "");
  tree.write("home/a/.conda/environments.txt", "/gone\n/data/envs/x\n/home/a/miniconda3\n");
  EnvironmentSearch search = search_in(tree);
  search.asked = {"../../../opt/given"};
  search.configured = {"~/miniconda3/envs/ml", "/opt/given"};
  search.virtual_env = "/home/a/venv";
  const FoundEnvironments found = find_environments(search);
  CHECK(names_of(found) == Names{"/opt/given", "~/miniconda3/envs/ml", "~/venv", "system",
                                 "~/miniconda3", "/data/envs/x", "~/.pyenv/versions/3.11.7"});
  CHECK(found.problems.empty());
}

TEST_CASE("what was asked for and is not there is a problem, what is only usual is not") {
  const PythonTree tree;
  EnvironmentSearch search = search_in(tree);
  search.asked = {"/nowhere"};
  search.configured = {"missing"};
  search.virtual_env = "/gone";
  const FoundEnvironments found = find_environments(search);
  CHECK(found.environments.empty());
  REQUIRE(found.problems.size() == 3);
  CHECK(found.problems[0] == ProbeProblem{"--environment", std::nullopt, "/nowhere is not there"});
  CHECK(found.problems[1].source == "gpl.toml");
  CHECK(found.problems[2].source == "VIRTUAL_ENV");
}

TEST_CASE("a shim that cannot be followed is said, and PATH is followed on") {
  const PythonTree tree;
  make_python(tree, "usr");
  tree.write("home/a/bin/python3", "#!/bin/sh\nmodule load python\n", 0755);
  const FoundEnvironments found = find_environments(search_in(tree));
  CHECK(names_of(found) == Names{"system"});
  REQUIRE(found.problems.size() == 1);
  CHECK(found.problems[0].message.find("/home/a/bin/python3 is a script") == 0);
}

TEST_CASE("a pyenv shim before the system's Python: both environments are there") {
  const PythonTree tree;
  make_python(tree, "usr");
  make_python(tree, "home/a/.pyenv/versions/3.11.7");
  tree.install("usr/lib/python3.11/site-packages", "torch", "1.13.0a0");
  tree.write("home/a/.pyenv/version", "3.11.7\n");
  tree.write("home/a/bin/python3",
             "#!/bin/sh\nexport PYENV_ROOT=/home/a/.pyenv\nexec pyenv exec python3 \"$@\"\n", 0755);
  const FoundEnvironments found = find_environments(search_in(tree));
  REQUIRE(names_of(found) == Names{"~/.pyenv/versions/3.11.7", "system"});
  CHECK(found.environments[0].frameworks.empty());
  CHECK(found.environments[0].python_version == "3.11.7");
  CHECK(found.environments[1].frameworks.count("torch") == 1);
}

TEST_CASE("path files lead to packages elsewhere, loops and duplicates are read once") {
  const PythonTree tree;
  make_python(tree, "env");
  tree.write("env/lib/python3.11/site-packages/a.pth", "/more\n/more\n.\n/gone\nimport os\n");
  tree.install("more", "numpy", "1.26.4");
  tree.write("more/b.pth", "/further\n");
  tree.install("further", "torch", "2.4.0");
  EnvironmentSearch search = search_in(tree);
  search.asked = {"/env"};
  const auto frameworks = find_environments(search).environments.at(0).frameworks;
  CHECK(frameworks.count("numpy") == 1);
  CHECK(frameworks.at("numpy").warnings.empty());
  CHECK(frameworks.count("torch") == 0);
}

TEST_CASE("an environment asked for that holds no packages is there, and says so") {
  const PythonTree tree;
  std::filesystem::create_directories(tree / "empty");
  EnvironmentSearch search = search_in(tree);
  search.asked = {"/empty"};
  const FoundEnvironments found = find_environments(search);
  REQUIRE(found.environments.size() == 1);
  CHECK(found.environments[0].problems == Names{"/empty holds no folder of Python packages"});
}

TEST_CASE("the search is made from the variables of an environment") {
  const EnvironmentSearch search =
      environment_search({"PATH=/a:/b", "VIRTUAL_ENV=/v", "CONDA_PREFIX=/c", "PYENV_ROOT=/p",
                          "PYENV_VERSION=3.11", "PATHS=no"},
                         "/home/a", "/work");
  CHECK(search.path == "/a:/b");
  CHECK(search.virtual_env == "/v");
  CHECK(search.conda_prefix == "/c");
  CHECK(search.pyenv_root == "/p");
  CHECK(search.pyenv_version == "3.11");
  CHECK(search.home == "/home/a");
}

// One case's files below /env/lib/python3.11/site-packages.
void lay_out(const PythonTree& tree, const json& files) {
  const std::filesystem::path site = "env/lib/python3.11/site-packages";
  for (const auto& [name, what] : files.items()) {
    const std::string path = (site / name).lexically_normal().string();
    if (what.is_string()) {
      tree.write(path, what.get<std::string>());
    } else if (what.contains("symlink")) {
      const std::filesystem::path link = tree / path;
      std::filesystem::create_directories(link.parent_path());
      std::filesystem::create_symlink(what["symlink"].get<std::string>(), link);
    } else {
      FAIL("no such kind of file in the cases: ", what.dump());
    }
  }
}

void check_framework(const FrameworkBuild& build, const json& facts) {
  CHECK(build.version == facts.at("version"));
  const std::string backend = facts.value("backend", "");
  if (backend == "cpu") CHECK(build.backends.empty());
  if (!backend.empty() && backend != "cpu") {
    CHECK(build.backends == std::vector{accelerator_kind(backend).value()});
  }
  if (facts.contains("dist")) CHECK(build.dist == facts["dist"]);
  if (facts.contains("dists")) CHECK(build.dists == facts["dists"].get<Names>());
  if (facts.contains("backend_version")) CHECK(build.backend_version == facts["backend_version"]);
  if (facts.contains("warning")) {
    REQUIRE(build.warnings.size() == 1);
    CHECK(build.warnings[0].find(facts["warning"].get<std::string>()) != std::string::npos);
  }
  CHECK(build.editable == facts.value("editable", false));
}

TEST_CASE("every case of site-packages as found is reported as it is") {
  std::ifstream cases(std::string(GPL_TEST_CASES) + "/python_metadata/metadata_dev.jsonl");
  std::string line;
  int rows = 0;
  while (std::getline(cases, line)) {
    const json row = json::parse(line);
    CAPTURE(row["id"].get<std::string>());
    const PythonTree tree;
    lay_out(tree, row["tree"]);
    EnvironmentSearch search = search_in(tree);
    search.asked = {"/env"};
    const FoundEnvironments found = find_environments(search);
    REQUIRE(found.environments.size() == 1);
    auto frameworks = found.environments[0].frameworks;
    for (const auto& [name, facts] : row["expect"].items()) {
      if (name == "jax-metal") continue;  // a part of jax: framework_builds_test
      REQUIRE(frameworks.count(name) == 1);
      check_framework(frameworks[name], facts);
      frameworks.erase(name);
    }
    CHECK(frameworks.empty());
    ++rows;
  }
  CHECK(rows == 20);
}

}  // namespace
}  // namespace gpl::host
