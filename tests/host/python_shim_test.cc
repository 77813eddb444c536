#include "gpl/host/python_shim.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "temporary_folder.h"

namespace gpl::host {
namespace {

constexpr const char* shim_text =
    "#!/usr/bin/env bash\nset -e\nexport PYENV_ROOT=\"/home/a/.pyenv\"\n"
    "exec \"/home/a/.pyenv/libexec/pyenv\" exec \"$program\" \"$@\"\n";

// A home with pyenv, two Pythons in it, and its shim.
struct Pyenv {
  Pyenv() {
    folder.write("home/a/.pyenv/shims/python3", shim_text, 0755);
    for (const char* version : {"3.10.13", "3.11.7", "3.11.10"}) {
      folder.write("home/a/.pyenv/versions/" + std::string(version) + "/bin/python3", "ELF", 0755);
    }
    context.home = "/home/a";
    context.folder = "/home/a/project/deep";
  }
  std::string resolve() const {
    const auto found =
        resolve_python(SystemRoot(folder.path()), "/home/a/.pyenv/shims/python3", context);
    return found.ok() ? found.value() : found.error().message;
  }
  TemporaryFolder folder;
  ShimContext context;
};

std::string python(const std::string& version) {
  return "/home/a/.pyenv/versions/" + version + "/bin/python3";
}

TEST_CASE("a program that is no script is itself") {
  const Pyenv pyenv;
  const std::string path = python("3.10.13");
  CHECK(resolve_python(SystemRoot(pyenv.folder.path()), path, pyenv.context).value() == path);
}

TEST_CASE("a pyenv shim leads to the version that pyenv would choose") {
  Pyenv pyenv;
  pyenv.folder.write("home/a/.pyenv/version", "3.10.13\n");
  CHECK(pyenv.resolve() == python("3.10.13"));

  pyenv.folder.write("home/a/project/.python-version", "# ours\n3.11.7\n3.10.13\n");
  CHECK(pyenv.resolve() == python("3.11.7"));

  pyenv.context.pyenv_version = "3.10.13:3.11.7";
  CHECK(pyenv.resolve() == python("3.10.13"));
}

TEST_CASE("a version's prefix means the newest of it by number") {
  Pyenv pyenv;
  pyenv.context.pyenv_version = "3.11";
  CHECK(pyenv.resolve() == python("3.11.10"));
  pyenv.context.pyenv_version = "python-3.11.7";
  CHECK(pyenv.resolve() == python("3.11.7"));
}

TEST_CASE("pyenv's system version leads on along PATH, a missing one is said") {
  Pyenv pyenv;
  CHECK(pyenv.resolve() == "leads on to the next Python on PATH");
  pyenv.context.pyenv_version = "system";
  CHECK(pyenv.resolve() == "leads on to the next Python on PATH");
  pyenv.context.pyenv_version = "3.99.1";
  CHECK(pyenv.resolve() == "is pyenv's, which is set to '3.99.1': that version is not installed");
  pyenv.context.pyenv_version = "../../../usr";
  CHECK(pyenv.resolve().find("is not installed") != std::string::npos);
}

TEST_CASE("a script that only replaces itself by an interpreter is followed, others are not run") {
  const TemporaryFolder folder;
  folder.write("opt/py/bin/python3", "ELF", 0755);
  folder.write("a", "#!/bin/sh\nexec '/opt/py/bin/python3' -s \"$@\"\n", 0755);
  folder.write("b", "#!/bin/sh\n. /etc/profile\nmodule load python\npython3 \"$@\"\n", 0755);
  folder.write("python3loop", "#!/bin/sh\nexec /python3loop \"$@\"\n", 0755);
  const SystemRoot root(folder.path());
  CHECK(resolve_python(root, "/a", {}).value() == "/opt/py/bin/python3");
  CHECK(resolve_python(root, "/b", {}).error().code == Code::unsupported);
  CHECK(resolve_python(root, "/python3loop", {}).error().message == "leads from script to script");
}

}  // namespace
}  // namespace gpl::host
