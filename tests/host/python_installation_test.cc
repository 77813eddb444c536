#include "gpl/host/python_installation.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "python_tree.h"

namespace gpl::host {
namespace {

using test::PythonTree;
using Names = std::vector<std::string>;

// Debian's layout: an interpreter, three folders of packages, a user with one.
void make_debian(const PythonTree& tree) {
  tree.write("usr/bin/python3.11", "ELF", 0755);
  std::filesystem::create_symlink("python3.11", tree / "usr/bin/python3");
  std::filesystem::create_directories(tree / "usr/local/lib/python3.11/dist-packages");
  std::filesystem::create_directories(tree / "usr/lib/python3/dist-packages");
  std::filesystem::create_directories(tree / "usr/lib/python3.11");
  std::filesystem::create_directories(tree / "home/a/.local/lib/python3.11/site-packages");
}

Result<PythonInstallation> read(const PythonTree& tree, const std::string& path) {
  ShimContext context;
  context.home = "/home/a";
  return read_python_installation(SystemRoot(tree.path()), path, context);
}

TEST_CASE("a system Python looks at the user's packages first, then at Debian's folders") {
  const PythonTree tree;
  make_debian(tree);
  const PythonInstallation python = read(tree, "/usr/bin/python3").value();
  CHECK(python.root == "/usr");
  CHECK(python.python == "/usr/bin/python3");
  CHECK(python.version == "3.11");
  CHECK(python.sites == Names{"/home/a/.local/lib/python3.11/site-packages",
                              "/usr/local/lib/python3.11/dist-packages",
                              "/usr/lib/python3/dist-packages"});
  tree.write("usr/include/python3.11/patchlevel.h", "#define PY_VERSION      \t\"3.11.2\"\n");
  CHECK(read(tree, "/usr/bin/python3").value().version == "3.11.2");
}

TEST_CASE("a virtual environment looks at its own packages alone") {
  const PythonTree tree;
  make_debian(tree);
  tree.write("venv/pyvenv.cfg", "home = /usr/bin\nversion = 3.11.2\n");
  std::filesystem::create_directories(tree / "venv/lib/python3.11/site-packages");
  std::filesystem::create_directories(tree / "venv/bin");
  std::filesystem::create_symlink(tree / "usr/bin/python3", tree / "venv/bin/python");
  for (const char* path : {"/venv", "/venv/bin/python"}) {
    const PythonInstallation python = read(tree, path).value();
    CHECK(python.root == "/venv");
    CHECK(python.python == "/venv/bin/python");
    CHECK(python.version == "3.11.2");
    CHECK(python.sites == Names{"/venv/lib/python3.11/site-packages"});
    CHECK(python.problems.empty());
  }
}

TEST_CASE("with system packages the user's and the base's follow") {
  const PythonTree tree;
  make_debian(tree);
  tree.write("venv/pyvenv.cfg",
             "home = /usr/bin\ninclude-system-site-packages = true\nversion = 3.11.2\n");
  std::filesystem::create_directories(tree / "venv/lib/python3.11/site-packages");
  std::filesystem::create_directories(tree / "venv/bin");
  std::filesystem::create_symlink(tree / "usr/bin/python3", tree / "venv/bin/python3");
  CHECK(read(tree, "/venv").value().sites ==
        Names{"/venv/lib/python3.11/site-packages", "/home/a/.local/lib/python3.11/site-packages",
              "/usr/local/lib/python3.11/dist-packages", "/usr/lib/python3/dist-packages"});
}

TEST_CASE("an environment whose base was upgraded or is gone is said to be broken") {
  const PythonTree tree;
  make_debian(tree);
  tree.write("old/pyvenv.cfg", "home = /usr/bin\nversion = 3.10.4\n");
  std::filesystem::create_directories(tree / "old/lib/python3.10/site-packages");
  std::filesystem::create_directories(tree / "old/bin");
  std::filesystem::create_symlink(tree / "usr/bin/python3", tree / "old/bin/python3");
  const PythonInstallation old = read(tree, "/old").value();
  CHECK(old.sites.empty());
  CHECK(old.problems.size() == 1);

  tree.write("gone/pyvenv.cfg", "home = /opt/gone/bin\nversion = 3.10.4\n");
  std::filesystem::create_directories(tree / "gone/lib/python3.10/site-packages");
  std::filesystem::create_directories(tree / "gone/bin");
  std::filesystem::create_symlink("/opt/gone/bin/python3", tree / "gone/bin/python3");
  const PythonInstallation gone = read(tree, "/gone").value();
  CHECK(gone.python.empty());
  CHECK(gone.problems.size() == 1);
}

TEST_CASE("a folder without an interpreter is accepted, and the user's packages are not its") {
  const PythonTree tree;
  make_debian(tree);
  std::filesystem::create_directories(tree / "env/lib/python3.11/site-packages");
  const PythonInstallation python = read(tree, "/env").value();
  CHECK(python.python.empty());
  CHECK(python.version == "3.11");
  CHECK(python.sites == Names{"/env/lib/python3.11/site-packages"});
}

TEST_CASE("packages of several Pythons in one folder: the interpreter's count, else the newest's") {
  const PythonTree tree;
  std::filesystem::create_directories(tree / "env/lib/python3.9/site-packages");
  std::filesystem::create_directories(tree / "env/lib/python3.11/site-packages");
  CHECK(read(tree, "/env").value().sites == Names{"/env/lib/python3.11/site-packages"});
  CHECK(read(tree, "/env").value().problems.size() == 1);
  tree.write("env/bin/python3.9", "ELF", 0755);
  std::filesystem::create_symlink("python3.9", tree / "env/bin/python3");
  CHECK(read(tree, "/env").value().sites == Names{"/env/lib/python3.9/site-packages"});
  CHECK(read(tree, "/env").value().problems.empty());
}

TEST_CASE("a folder of packages itself is accepted") {
  const PythonTree tree;
  tree.install("target", "numpy", "1.26.4");
  CHECK(read(tree, "/target").value().sites == Names{"/target"});
}

TEST_CASE("linked folders of packages are looked at once") {
  const PythonTree tree;
  std::filesystem::create_directories(tree / "env/lib/python3.11/site-packages");
  std::filesystem::create_symlink("lib", tree / "env/lib64");
  std::filesystem::create_symlink("env", tree / "link");
  const PythonInstallation python = read(tree, "/link").value();
  CHECK(python.root == "/env");
  CHECK(python.sites == Names{"/env/lib/python3.11/site-packages"});
}

TEST_CASE("conda's record of python tells the version") {
  const PythonTree tree;
  tree.write("conda/conda-meta/python-3.12.4-h1_0_cpython.json", "{}");
  tree.write("conda/bin/python3.12", "ELF", 0755);
  std::filesystem::create_symlink("python3.12", tree / "conda/bin/python3");
  std::filesystem::create_directories(tree / "conda/lib/python3.12/site-packages");
  const PythonInstallation python = read(tree, "/conda/bin/python3").value();
  CHECK(python.is_conda);
  CHECK(python.root == "/conda");
  CHECK(python.version == "3.12.4");
}

TEST_CASE("pypy has its packages below its own name") {
  const PythonTree tree;
  tree.write("pypy/bin/pypy3.10", "ELF", 0755);
  std::filesystem::create_symlink("pypy3.10", tree / "pypy/bin/python3");
  std::filesystem::create_directories(tree / "pypy/lib/pypy3.10/site-packages");
  CHECK(read(tree, "/pypy").value().sites == Names{"/pypy/lib/pypy3.10/site-packages"});
}

TEST_CASE("Python 2 and what is not there are refused") {
  const PythonTree tree;
  tree.write("two/bin/python2.7", "ELF", 0755);
  std::filesystem::create_symlink("python2.7", tree / "two/bin/python");
  CHECK(read(tree, "/two").error().message == "is Python 2");
  CHECK(read(tree, "/nowhere").error().code == Code::not_found);
}

}  // namespace
}  // namespace gpl::host
