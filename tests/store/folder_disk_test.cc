#include "gpl/store/folder_disk.h"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>

#include "forked.h"
#include "log_model.h"
#include "temporary_folder.h"

namespace gpl::store {
namespace {

std::unique_ptr<FolderDisk> open_disk(const std::string& path) {
  Result<std::unique_ptr<FolderDisk>> disk = FolderDisk::open(path);
  if (!disk) FAIL(disk.error().message);
  return std::move(disk).value();
}

}  // namespace

TEST_CASE("The operations do on a real folder what they say") {
  const TemporaryFolder folder;
  const auto disk = open_disk(folder.path());
  REQUIRE(disk->perform(Create{"a", 3'000'000}).ok());
  CHECK(disk->size("a").value() == 3'000'000);
  CHECK(folder.read("a") == std::string(3'000'000, '\0'));
  REQUIRE(disk->perform(Write{"a", 1'000, "hello"}).ok());
  REQUIRE(disk->perform(Write{"new", 4, "grows"}).ok());
  REQUIRE(disk->perform(Sync{"a"}).ok());
  REQUIRE(disk->perform(Sync{"new"}).ok());
  CHECK(disk->read("a", 999, 7).value() == std::string("\0hello\0", 7));
  CHECK(disk->read("new", 0, 100).value() == std::string("\0\0\0\0grows", 9));
  CHECK(disk->read("new", 9, 100).value().empty());
  CHECK(disk->read("new", 1'000'000, 100).value().empty());
  CHECK(disk->list().value() == std::vector<std::string>{"a", "new"});

  REQUIRE(disk->perform(Rename{"new", "a"}).ok());
  REQUIRE(disk->perform(Write{"a", 0, "more"}).ok());
  REQUIRE(disk->perform(Sync{"a"}).ok());
  CHECK(folder.read("a") == "moregrows");
  REQUIRE(disk->perform(Create{"a", 2}).ok());
  CHECK(folder.read("a") == std::string(2, '\0'));
  REQUIRE(disk->perform(Remove{"a"}).ok());
  REQUIRE(disk->perform(Remove{"a"}).ok());
  CHECK(disk->list().value().empty());
}

TEST_CASE("A file made ahead has blocks on disk, not a hole") {
  const TemporaryFolder folder;
  const auto disk = open_disk(folder.path());
  REQUIRE(disk->perform(Create{"a", 1'000'000}).ok());
  struct stat status;
  REQUIRE(::stat((folder / "a").c_str(), &status) == 0);
  CHECK(status.st_blocks * 512 >= 1'000'000);
  CHECK((status.st_mode & 0777) == 0600);
}

TEST_CASE("What fails is told with the file, the folder and the system's words") {
  const TemporaryFolder folder;
  const auto disk = open_disk(folder.path());
  const Status sync = disk->perform(Sync{"none"});
  REQUIRE_FALSE(sync.ok());
  CHECK(sync.error() ==
        Error{Code::io, "cannot open none in " + folder.path() + ": No such file or directory"});
  CHECK(disk->perform(Rename{"none", "some"}).error().code == Code::io);
  CHECK(disk->size("none").error().code == Code::not_found);
  CHECK(disk->read("none", 0, 1).error().code == Code::not_found);
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(disk->read("pipe", 0, 1).error().code == Code::invalid);  // and does not hang
  CHECK(disk->size("pipe").error().message.find("is a pipe, and ") != std::string::npos);
}

TEST_CASE("A disk that is full is told, and what was half made takes no space") {
  CHECK(forked([] {
          const TemporaryFolder folder;
          const auto disk = open_disk(folder.path());
          std::signal(SIGXFSZ, SIG_IGN);
          const rlimit limit{1'000'000, 1'000'000};
          if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
          const Status made = disk->perform(Create{"a", 1'000'001});
          if (made.ok() || made.error().code != Code::io) return 2;
          if (made.error().message != "cannot make a in " + folder.path() + ": File too large")
            return 3;
          if (!disk->list().value().empty()) return 4;
          const Status written = disk->perform(Write{"b", 999'999, "xy"});
          if (written.ok() || !written.error().message.starts_with("cannot write b in ")) return 5;
          return disk->perform(Create{"c", 1'000'000}).ok() ? 0 : 6;
        }) == 0);
}

TEST_CASE("A folder that is missing is made, for its owner alone") {
  const TemporaryFolder folder;
  const auto disk = open_disk(folder / "deep/log");
  struct stat status;
  REQUIRE(::stat((folder / "deep/log").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0700);
}

TEST_CASE("A second process cannot open the folder, and hears which one it is") {
  const TemporaryFolder folder;
  auto disk = open_disk(folder.path());
  const int code = forked([&] {
    const auto second = FolderDisk::open(folder.path());
    if (second.ok()) return 1;
    if (second.error().code != Code::busy) return 2;
    return second.error().message.find("the log in " + folder.path() + " is in use") == 0 ? 0 : 3;
  });
  CHECK(code == 0);
  disk.reset();
  CHECK(FolderDisk::open(folder.path()).ok());
}

TEST_CASE("Opened to read it takes no lock, and changes nothing") {
  const TemporaryFolder folder;
  const auto disk = open_disk(folder.path());
  REQUIRE(disk->perform(Create{"a", 5}).ok());
  const auto reader = FolderDisk::open_to_read(folder.path());
  REQUIRE(reader.ok());
  CHECK(reader.value()->list().value() == std::vector<std::string>{"a"});
  CHECK(reader.value()->perform(Remove{"a"}).error().code == Code::denied);
  CHECK(folder.read("a").size() == 5);
  CHECK(FolderDisk::open_to_read(folder / "none").error().code == Code::not_found);
}

TEST_CASE("A log on a real folder is found again") {
  const TemporaryFolder folder;
  LogModel model{{}, {0, 0, three_voters}, {}};
  for (int start = 0; start < 3; ++start) {
    const auto disk = open_disk(folder.path());
    Result<Wal::Opened> opened = Wal::open(*disk, three_voters, {.segment_bytes = 4096});
    REQUIRE(opened.ok());
    CHECK(opened.value().restored == model.restored(model.begin));
    for (int i = 0; i < 20; ++i) {
      const raft::Persist persist = persist_of(
          raft::HardState{1, {}}, {entry_of(model.last_index() + 1, 1, std::string(300, 'x'))});
      REQUIRE(perform_all(*disk, opened.value().wal.append({persist})).ok());
      model.apply(persist);
    }
  }
}

}  // namespace gpl::store
