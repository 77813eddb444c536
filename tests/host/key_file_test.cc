#include "gpl/host/key_file.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <string>

#include "../forked.h"
#include "../temporary_folder.h"

using gpl::Code;
using gpl::host::create_key_file;
using gpl::host::key_file_path;
using gpl::host::read_key_file;
using gpl::host::replace_key_file;

namespace {

mode_t mode_of(const std::string& path) {
  struct stat status;
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777U;
}

std::optional<std::string> line_in(const std::string& configuration) {
  const auto line = read_key_file(configuration);
  REQUIRE(line.ok());
  return line.value();
}

std::size_t files_in(const std::string& folder) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) count += entry.exists();
  return count;
}

}  // namespace

TEST_CASE("a key file that is not there is no error, its folder's absence neither") {
  const TemporaryFolder folder;
  CHECK(line_in(folder.path()) == std::nullopt);
  CHECK(line_in(folder / "missing/gpl") == std::nullopt);
  CHECK(!std::filesystem::exists(folder / "missing"));
}

TEST_CASE("a key file is made with its folder, for its owner alone") {
  const TemporaryFolder folder;
  const std::string configuration = folder / "config/gpl";
  const mode_t before = ::umask(0);
  const gpl::Status made = create_key_file(configuration, "gpl-key abc");
  ::umask(before);
  REQUIRE(made.ok());
  CHECK(key_file_path(configuration) == configuration + "/cluster.key");
  CHECK(mode_of(configuration) == 0700);
  CHECK(mode_of(configuration + "/cluster.key") == 0600);
  CHECK(folder.read("config/gpl/cluster.key") == "gpl-key abc\n");
  CHECK(line_in(configuration) == "gpl-key abc");
  CHECK(files_in(configuration) == 1);
}

TEST_CASE("a key file's mode does not depend on the umask") {
  const TemporaryFolder folder;
  const mode_t before = ::umask(0777);
  const gpl::Status made = create_key_file(folder.path(), "line");
  ::umask(before);
  REQUIRE(made.ok());
  CHECK(mode_of(folder / "cluster.key") == 0600);
}

TEST_CASE("to create a key file leaves one that is there as it is") {
  const TemporaryFolder folder;
  REQUIRE(create_key_file(folder.path(), "first").ok());
  const gpl::Status again = create_key_file(folder.path(), "second");
  REQUIRE(!again.ok());
  CHECK(again.error().code == Code::busy);
  CHECK(line_in(folder.path()) == "first");
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("to replace a key file leaves nothing of the old one, its mode neither") {
  const TemporaryFolder folder;
  folder.write("cluster.key", "a line that is longer than the next one\n", 0644);
  REQUIRE(replace_key_file(folder.path(), "short").ok());
  CHECK(folder.read("cluster.key") == "short\n");
  CHECK(mode_of(folder / "cluster.key") == 0600);
  CHECK(files_in(folder.path()) == 1);
  const TemporaryFolder empty;
  REQUIRE(replace_key_file(empty.path(), "line").ok());
  CHECK(line_in(empty.path()) == "line");
}

TEST_CASE("a key file that others could read or write is refused with the way out") {
  for (const mode_t mode : {0604U, 0640U, 0602U, 0620U, 0610U, 0644U, 0666U}) {
    const TemporaryFolder folder;
    const std::string path = folder.write("cluster.key", "the secret\n", mode);
    const auto line = read_key_file(folder.path());
    REQUIRE(!line.ok());
    CHECK(line.error().code == Code::denied);
    CHECK(line.error().message.find("chmod 600 " + path) != std::string::npos);
    CHECK(line.error().message.find("secret") == std::string::npos);
  }
}

TEST_CASE("a key file that its owner may only read is fine") {
  const TemporaryFolder folder;
  folder.write("cluster.key", "  line \r\n\n", 0400);
  CHECK(line_in(folder.path()) == "line");
}

TEST_CASE("what is no key file is refused") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "cluster.key");
  CHECK(read_key_file(folder.path()).error().code == Code::invalid);
  std::filesystem::remove(folder / "cluster.key");
  REQUIRE(::mkfifo((folder / "cluster.key").c_str(), 0600) == 0);
  CHECK(read_key_file(folder.path()).error().code == Code::invalid);
  std::filesystem::remove(folder / "cluster.key");
  folder.write("cluster.key", "one\ntwo\n", 0600);
  CHECK(read_key_file(folder.path()).error().code == Code::invalid);
  folder.write("cluster.key", std::string(4097, 'x'), 0600);
  CHECK(read_key_file(folder.path()).error().code == Code::invalid);
}

TEST_CASE("a link to a key file elsewhere is followed, and its mode is looked at") {
  const TemporaryFolder folder;
  const std::string elsewhere = folder.write("secrets/key", "line\n", 0600);
  std::filesystem::create_symlink(elsewhere, folder / "cluster.key");
  CHECK(line_in(folder.path()) == "line");
  folder.write("secrets/key", "line\n", 0644);
  CHECK(read_key_file(folder.path()).error().code == Code::denied);
}

TEST_CASE("a folder that cannot be written is told with its path") {
  const TemporaryFolder folder;
  REQUIRE(::chmod(folder.path().c_str(), 0555) == 0);
  CHECK(forked([&] {
          if (!become_ordinary_user()) return 1;
          const gpl::Status made = create_key_file(folder / "gpl", "line");
          if (made.ok() || made.error().code != Code::denied) return 2;
          return made.error().message.find(folder / "gpl") == std::string::npos ? 3 : 0;
        }) == 0);
}
