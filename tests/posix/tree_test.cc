#include "gpl/posix/tree.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "../forked.h"
#include "../temporary_folder.h"

using gpl::posix::Fd;
using gpl::posix::remove_tree_at;

namespace {

namespace fs = std::filesystem;

constexpr int folder_flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

/// Folders t/d/d/d... of which the last holds a file; each with `mode` at the end.
bool make_nested(int at, int levels, mode_t mode = 0755) {
  if (::mkdirat(at, "t", 0755) != 0) return false;
  Fd folder(::openat(at, "t", folder_flags));
  for (int level = 0; level < levels && folder.valid(); ++level) {
    if (::mkdirat(folder.get(), "d", 0755) != 0) return false;
    Fd next(::openat(folder.get(), "d", folder_flags));
    if (::fchmod(folder.get(), mode) != 0) return false;
    folder = std::move(next);
  }
  const Fd file(::openat(folder.get(), "leaf", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  return file.valid() && ::fchmod(folder.get(), mode) == 0;
}

bool removes_t(int at) {
  return remove_tree_at(at, "t").ok() && ::faccessat(at, "t", F_OK, 0) != 0;
}

/// Runs `body` as an ordinary user who owns `folder`.
template <class Body>
int as_ordinary_user(const TemporaryFolder& folder, Body body) {
  if (::geteuid() == 0) REQUIRE(::chown(folder.path().c_str(), ordinary_user, ordinary_user) == 0);
  return forked([&] { return become_ordinary_user() ? body() : 99; });
}

}  // namespace

TEST_CASE("what is not there is no error") {
  const TemporaryFolder folder;
  CHECK(remove_tree_at(folder.fd(), "absent").ok());
}

TEST_CASE("a file is removed, and its neighbours stay") {
  const TemporaryFolder folder;
  folder.write("t", "x");
  folder.write("t2", "x");
  CHECK(removes_t(folder.fd()));
  CHECK(fs::exists(folder / "t2"));
}

TEST_CASE("a folder of 2,000 files, folders and pipes is removed") {
  const TemporaryFolder folder;
  for (int i = 0; i < 2000; ++i) folder.write("t/" + std::to_string(i), "");
  for (int i = 0; i < 50; ++i) folder.write("t/sub" + std::to_string(i) + "/\xff\n", "x");
  REQUIRE(::mkfifo((folder / "t/fifo").c_str(), 0600) == 0);
  CHECK(removes_t(folder.fd()));
  CHECK(folder.empty());
}

TEST_CASE("links are removed and not followed") {
  const TemporaryFolder folder;
  folder.write("outside/precious", "x");
  folder.write("t/file", "x");
  REQUIRE(::symlink("../outside", (folder / "t/to-folder").c_str()) == 0);
  REQUIRE(::symlink("../outside/precious", (folder / "t/to-file").c_str()) == 0);
  REQUIRE(::symlink("nowhere", (folder / "t/dangling").c_str()) == 0);
  REQUIRE(::symlink("..", (folder / "t/up").c_str()) == 0);
  CHECK(removes_t(folder.fd()));
  CHECK(folder.read("outside/precious") == "x");
}

TEST_CASE("a name that is itself a link loses the link alone") {
  const TemporaryFolder folder;
  folder.write("outside/precious", "x");
  REQUIRE(::symlink("outside", (folder / "t").c_str()) == 0);
  CHECK(removes_t(folder.fd()));
  CHECK(folder.read("outside/precious") == "x");
}

TEST_CASE("links are not followed by an ordinary user either, nor is their target's mode changed") {
  const TemporaryFolder folder;
  CHECK(as_ordinary_user(folder, [&] {
          const int at = folder.fd();
          if (::mkdirat(at, "outside", 0500) != 0 || ::mkdirat(at, "t", 0755) != 0) return 1;
          if (::symlinkat("../outside", at, "t/link") != 0) return 2;
          if (::fchmodat(at, "t", 0500, 0) != 0) return 3;
          if (!removes_t(at)) return 4;
          struct stat status;
          if (::fstatat(at, "outside", &status, 0) != 0) return 5;
          return (status.st_mode & 0777) == 0500 ? 0 : 6;
        }) == 0);
}

TEST_CASE("an ordinary user removes folders of every mode") {
  const TemporaryFolder folder;
  CHECK(as_ordinary_user(folder, [&] {
          const int at = folder.fd();
          for (unsigned mode = 0; mode <= 7; ++mode) {
            if (!make_nested(at, 3)) return 1;
            for (const char* path : {"t/d/d/d", "t/d/d", "t/d", "t"}) {
              if (::fchmodat(at, path, mode << 6, 0) != 0) return 2;
            }
            if (!removes_t(at)) return 10 + static_cast<int>(mode);
          }
          return 0;
        }) == 0);
}

TEST_CASE("3,000 nested folders are removed") {
  const TemporaryFolder folder;
  REQUIRE(make_nested(folder.fd(), 3000));
  CHECK(removes_t(folder.fd()));
  CHECK(folder.empty());
}

TEST_CASE("an ordinary user removes 3,000 nested read-only folders") {
  const TemporaryFolder folder;
  CHECK(as_ordinary_user(folder, [&] {
          if (!make_nested(folder.fd(), 3000, 0500)) return 1;
          return removes_t(folder.fd()) ? 0 : 2;
        }) == 0);
  CHECK(folder.empty());
}

TEST_CASE("a deep tree takes a bounded number of descriptors") {
  const TemporaryFolder folder;
  REQUIRE(make_nested(folder.fd(), 1000));
  CHECK(forked([&] {
          const rlimit limit{200, 200};
          if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
          return removes_t(folder.fd()) ? 0 : 2;
        }) == 0);
}

TEST_CASE("removing a deep tree touches nothing beside it") {
  const TemporaryFolder folder;
  REQUIRE(make_nested(folder.fd(), 400));
  for (const std::string name : {"t.deep1", "t.deep2", "t.deep3", ".deep1"}) {
    folder.write(name + "/precious", "x");
  }
  CHECK(removes_t(folder.fd()));
  CHECK(folder.read("t.deep1/precious") == "x");
  CHECK(folder.read("t.deep2/precious") == "x");
  CHECK(folder.read("t.deep3/precious") == "x");
  CHECK(folder.read(".deep1/precious") == "x");
}

TEST_CASE("a deep tree is removed whatever names it holds at its top") {
  const TemporaryFolder folder;
  REQUIRE(make_nested(folder.fd(), 800));
  folder.write("t/.deep1/file", "x");
  folder.write("t/.deep2", "x");
  fs::create_directory(folder / "t/.deep3");
  CHECK(removes_t(folder.fd()));
}

TEST_CASE("what cannot be removed is told by name") {
  const TemporaryFolder folder;
  folder.write("t/file", "x");
  CHECK(forked([&] {
          // Another user's folder, unless the test program has no rights to lose.
          if (::geteuid() != 0) return 0;
          if (!become_ordinary_user()) return 1;
          const gpl::Status status = remove_tree_at(folder.fd(), "t");
          return !status.ok() && status.error().message.find("cannot remove t") != std::string::npos
                     ? 0
                     : 2;
        }) == 0);
  CHECK(folder.read("t/file") == "x");
}
