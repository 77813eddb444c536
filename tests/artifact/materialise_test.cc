#include "gpl/artifact/materialise.h"

#include <sys/stat.h>

#include "../temporary_folder.h"

using namespace gpl;
using artifact::Entry;
using artifact::EntryType;
using artifact::materialise;
using artifact::Note;

namespace {

struct stat status_of(const std::string& path) {
  struct stat status = {};
  REQUIRE(::lstat(path.c_str(), &status) == 0);
  return status;
}

Entry file_entry(const TemporaryFolder& root, const std::string& path) {
  const struct stat status = status_of(root / path);
  Entry entry;
  entry.path = path;
  entry.mode = status.st_mode & 0777U;
  entry.size_bytes = static_cast<std::uint64_t>(status.st_size);
  entry.mtime_ns = std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
  return entry;
}

Entry directory_entry(const std::string& path, std::uint32_t mode = 0755) {
  Entry entry;
  entry.path = path;
  entry.type = EntryType::directory;
  entry.mode = mode;
  entry.mtime_ns = 1'500'000'000'123'456'789;
  return entry;
}

std::vector<Note> copy(const TemporaryFolder& root, const std::vector<Entry>& entries,
                       const TemporaryFolder& destination) {
  Result<artifact::Materialised> made =
      materialise(root.path(), entries, destination.path(), nullptr);
  REQUIRE(made.ok());
  return made.value().notes;
}

}  // namespace

TEST_CASE("content, mode and time of a file arrive, whatever the umask") {
  const TemporaryFolder root;
  const TemporaryFolder destination;
  root.write("run.sh", "#!/bin/sh\n", 0777);
  const timespec times[] = {{1, 0}, {1'234'567'890, 987'654'321}};
  REQUIRE(::utimensat(AT_FDCWD, (root / "run.sh").c_str(), times, 0) == 0);
  CHECK(copy(root, {file_entry(root, "run.sh")}, destination).empty());
  CHECK(destination.read("run.sh") == "#!/bin/sh\n");
  const struct stat status = status_of(destination / "run.sh");
  CHECK((status.st_mode & 07777U) == 0777U);
  CHECK(status.st_mtim.tv_sec == 1'234'567'890);
  CHECK(status.st_mtim.tv_nsec == 987'654'321);
}

TEST_CASE("set-user-id bits do not travel") {
  const TemporaryFolder root;
  const TemporaryFolder destination;
  root.write("su", "x", 04755);
  copy(root, {file_entry(root, "su")}, destination);
  CHECK((status_of(destination / "su").st_mode & 07777U) == 0755U);
}

TEST_CASE("a read-only folder is filled first and read-only afterwards, with its time") {
  const TemporaryFolder root;
  const TemporaryFolder destination;
  root.write("ro/a", "a");
  CHECK(copy(root, {directory_entry("ro", 0555), file_entry(root, "ro/a")}, destination).empty());
  CHECK(destination.read("ro/a") == "a");
  const struct stat status = status_of(destination / "ro");
  CHECK((status.st_mode & 0777U) == 0555U);
  CHECK(status.st_mtim.tv_nsec == 123'456'789);
}

TEST_CASE("links arrive as links, dangling ones too") {
  const TemporaryFolder root;
  const TemporaryFolder destination;
  Entry link;
  link.path = "gone";
  link.type = EntryType::symlink;
  link.link_target = "/no/such/place";
  CHECK(copy(root, {link}, destination).empty());
  CHECK(std::filesystem::read_symlink(destination / "gone") == "/no/such/place");
}

TEST_CASE("a file that went away since it was listed is left out without a word") {
  const TemporaryFolder root;
  const TemporaryFolder destination;
  root.write("a", "a");
  const Entry entry = file_entry(root, "a");
  std::filesystem::remove(root / "a");
  CHECK(copy(root, {entry}, destination).empty());
  CHECK(destination.empty());
}

TEST_CASE("a file that became a FIFO is not waited for but noted") {
  const TemporaryFolder root;
  const TemporaryFolder destination;
  root.write("a", "a");
  const Entry entry = file_entry(root, "a");
  std::filesystem::remove(root / "a");
  REQUIRE(::mkfifo((root / "a").c_str(), 0600) == 0);
  const std::vector<Note> notes = copy(root, {entry}, destination);
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].kind == Note::Kind::left_out);
  CHECK(destination.empty());
}

TEST_CASE("a file that was written to since it was listed is taken as it is and noted") {
  const TemporaryFolder root;
  const TemporaryFolder destination;
  root.write("log", "one\n");
  const Entry entry = file_entry(root, "log");
  root.write("log", "one\ntwo\n");
  const std::vector<Note> notes = copy(root, {entry}, destination);
  CHECK(notes ==
        std::vector<Note>{{Note::Kind::changed, "log", "was written to while it was taken"}});
  CHECK(destination.read("log") == "one\ntwo\n");
}

TEST_CASE("what was copied is told as it is in the copy, not as it was listed") {
  const TemporaryFolder root;
  const TemporaryFolder destination;
  root.write("log", "one\n");
  const Entry entry = file_entry(root, "log");
  root.write("log", "one\ntwo\n");
  const auto made = materialise(root.path(), {entry}, destination.path(), nullptr);
  REQUIRE(made.ok());
  REQUIRE(made.value().entries.size() == 1);
  CHECK(made.value().entries[0].size_bytes == 8);
  CHECK(made.value().entries[0].mtime_ns == file_entry(destination, "log").mtime_ns);
}

TEST_CASE("an entry may have its content elsewhere") {
  const TemporaryFolder root;
  const TemporaryFolder elsewhere;
  const TemporaryFolder destination;
  elsewhere.write("data", "from elsewhere");
  Entry entry = file_entry(elsewhere, "data");
  entry.path = "here";
  entry.source = elsewhere / "data";
  CHECK(copy(root, {entry}, destination).empty());
  CHECK(destination.read("here") == "from elsewhere");
}

TEST_CASE("an interruption ends the copy with its own code") {
  const TemporaryFolder root;
  const TemporaryFolder destination;
  root.write("a", "a");
  int asked = 0;
  const auto notes = materialise(root.path(), {directory_entry("d"), file_entry(root, "a")},
                                 destination.path(), [&] { return ++asked > 1; });
  REQUIRE_FALSE(notes.ok());
  CHECK(notes.error().code == Code::busy);
}
