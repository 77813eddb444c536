#include "gpl/host/system_root.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>

#include "temporary_folder.h"

namespace gpl::host {
namespace {

TEST_CASE("paths below a stand-in root are the machine's") {
  const TemporaryFolder folder;
  folder.write("usr/bin/python3.11", "ELF", 0755);
  std::filesystem::create_symlink("python3.11", folder / "usr/bin/python3");
  const SystemRoot root(folder.path());
  CHECK(root.is_folder("/usr/bin"));
  CHECK(root.is_executable("/usr/bin/python3"));
  CHECK(root.real_path("/usr/bin/python3") == "/usr/bin/python3.11");
  CHECK(root.real_path("/") == "/");
  CHECK(root.names("/usr/bin") == std::vector<std::string>{"python3", "python3.11"});
  CHECK(root.read("/usr/bin/python3", 2) == "EL");
}

TEST_CASE("a link that leaves the stand-in root leads nowhere") {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("/etc", folder / "out");
  CHECK_FALSE(SystemRoot(folder.path()).real_path("/out").has_value());
  CHECK_FALSE(SystemRoot(folder.path()).real_path("/missing").has_value());
}

TEST_CASE("a folder and a pipe are read as nothing, without waiting") {
  const TemporaryFolder folder;
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0644) == 0);
  CHECK_FALSE(SystemRoot(folder.path()).read("/pipe", 10).has_value());
  CHECK_FALSE(SystemRoot(folder.path()).read("/", 10).has_value());
  CHECK(SystemRoot(folder.path()).names("/missing").empty());
}

}  // namespace
}  // namespace gpl::host
